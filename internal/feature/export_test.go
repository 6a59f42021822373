package feature

// The smallest pieces, for tests of their own.
var (
	AppendFixed  = appendFixed
	AppendFloat  = appendFloat
	AppendString = appendString
)

// The parts of CRC-32.
var (
	CRCMul   = crcMul
	CRCShift = crcShift
)

// Deflate gives a fragment its deflated form, whatever its length.
func Deflate(f *Fragment) { f.deflated.Store(newDeflated(f.JSON)) }

// MostQuick is the longest text that AppendQuick takes.
const MostQuick = mostQuick

// CodeLengths are the lengths of the codes of AppendQuick, as letters from a for 0.
var CodeLengths = map[string]string{"literals and matches": literalLengths + matchLengths, "distances": distanceLengths, "lengths": lengthLengths}

// AppendQuick appends a text as a block with codes that are not made for it.
func AppendQuick(dst, text []byte) []byte {
	m, seen := Member{begun: true}, places{}
	w := m.writer(dst, len(text))
	w.text(text, 0, len(text), &seen)
	return m.align(m.wrote(w))
}

// Code codes a fragment, whatever its length.
func Code(f *Fragment) { f.coded.Store(newCoded(f.JSON)) }

// AppendRun appends a text as blocks with codes that are made for it.
func AppendRun(dst, text []byte) []byte {
	d := runDeflaters.Get().(*deflater)
	defer runDeflaters.Put(d)
	return d.run(dst, text)
}

// NewFragment returns a fragment that no cache keeps. It owns the bytes from now on.
func NewFragment(json []byte) *Fragment { return &Fragment{JSON: json} }

// CodeLengthsOf gives the lengths of codes by how often their symbols come, as CodeLengths are.
var CodeLengthsOf = codeLengths
