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

// NewFragment returns a fragment that no cache keeps. It owns the bytes from now on.
func NewFragment(json []byte) *Fragment { return &Fragment{JSON: json} }
