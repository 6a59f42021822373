// Package wire writes parts of responses: bodies, links, JSON texts. It knows no requests and no data.
package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"grense/internal/problem"
)

const (
	// smallest is the length in bytes from which a cached body is compressed.
	smallest = 512
	// Worthwhile is the length in bytes from which a body that is sent once is compressed. A shorter one fits into
	// one packet anyway.
	Worthwhile = 1400
)

// A Body is a response in memory, plain and, if that is shorter, compressed. It is immutable.
type Body struct {
	Plain, Gz []byte
	Etag      string // strong, of the plain form; the compressed form adds -gzip
}

// PlainBody returns a small body without a compressed form.
func PlainBody(b []byte) *Body { return &Body{Plain: b} }

// NewBody returns a body with the best compression.
func NewBody(plain []byte) *Body { return NewBodyAt(plain, gzip.BestCompression) }

// NewBodyAt is NewBody with a level of compression.
func NewBodyAt(plain []byte, level int) *Body {
	sum := sha256.Sum256(plain)
	b := &Body{Plain: plain, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	if len(plain) >= smallest {
		if gz := Compress(nil, plain, level); len(gz) < len(plain) {
			b.Gz = gz
		}
	}
	return b
}

// Once returns a body that is not cached and has no ETag.
func Once(plain []byte) *Body {
	b := &Body{Plain: plain}
	if len(plain) >= Worthwhile {
		b.Gz = Compress(nil, plain, gzip.BestSpeed)
	}
	return b
}

var gzipPool = sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return w }}

// Compress appends src as one gzip member to dst.
func Compress(dst, src []byte, level int) []byte {
	buf := bytes.NewBuffer(dst)
	if level == gzip.BestSpeed {
		w := gzipPool.Get().(*gzip.Writer)
		w.Reset(buf)
		w.Write(src) // writing to a bytes.Buffer does not fail
		w.Close()
		gzipPool.Put(w)
		return buf.Bytes()
	}
	w, _ := gzip.NewWriterLevel(buf, level)
	w.Write(src)
	w.Close()
	return buf.Bytes()
}

// AcceptsGzip reports whether the client accepts gzip (RFC 9110, 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	star := false
	for _, v := range r.Header["Accept-Encoding"] {
		for e := range strings.SplitSeq(v, ",") {
			name, rest, _ := strings.Cut(e, ";")
			q, ok := strings.CutPrefix(strings.TrimSpace(rest), "q=")
			refused := ok && strings.Trim(q, "0.") == ""
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				return !refused
			case "*":
				star = !refused
			}
		}
	}
	return star
}

// Matches reports whether If-None-Match names the validator, compared weakly (RFC 9110, 13.1.2).
func Matches(values []string, etag string) bool {
	etag = strings.TrimPrefix(etag, "W/")
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			e = strings.TrimSpace(e)
			if e == "*" || strings.TrimPrefix(e, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// Digest returns a validator of the content of a buffer, and gives the buffer back.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	GiveBuffer(b)
	return hex.EncodeToString(sum[:12])
}

var bufPool = sync.Pool{New: func() any { b := make([]byte, 0, 64<<10); return &b }}

// pooled is the capacity of the largest buffer in the pool, in bytes.
const pooled = 8 << 20

// TakeBuffer returns an empty buffer of the pool.
func TakeBuffer() []byte { return (*bufPool.Get().(*[]byte))[:0] }

// GiveBuffer gives a buffer back to the pool; the caller must not use it any more.
func GiveBuffer(b []byte) {
	if b != nil && cap(b) <= pooled {
		bufPool.Put(&b)
	}
}

// IfMatch returns an error of kind Precondition if If-Match does not contain etag. The comparison is strong: a weak
// validator matches nothing (RFC 9110, 13.1.1). "" is a representation without a validator. It checks GET and HEAD
// only.
func IfMatch(r *http.Request, etag string) error {
	values, asked := r.Header["If-Match"]
	if !asked || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e == "*" || e == etag && e != "" && !strings.HasPrefix(e, "W/") {
				return nil
			}
		}
	}
	return problem.New(problem.Precondition, nil, "The resource is not in a version that If-Match names. Leave the "+
		"header out to get the current version.")
}
