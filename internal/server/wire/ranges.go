package wire

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"grense/internal/problem"
)

// ServeParts sends content, or the parts in the header Range. If http.ServeContent refuses the range, ServeParts
// returns an error of kind Range.
func ServeParts(w http.ResponseWriter, r *http.Request, content io.ReadSeeker) error {
	parts := &partsWriter{ResponseWriter: w}
	http.ServeContent(parts, r, "", time.Time{}, content)
	if !parts.refused {
		return nil
	}
	h := w.Header()
	h.Del("Content-Disposition")
	h.Del("Format-Losses")
	size := strings.TrimPrefix(h.Get("Content-Range"), "bytes */")
	if size == "" {
		return problem.New(problem.Range, nil, "The header Range cannot be read. Write for instance bytes=0-1023, or "+
			"leave it out.")
	}
	return problem.New(problem.Range, nil, "The header Range names nothing of the %s bytes. Name bytes that are "+
		"there, or leave it out.", size)
}

// partsWriter discards the text of a 416 response.
type partsWriter struct {
	http.ResponseWriter
	refused bool
}

func (w *partsWriter) WriteHeader(status int) {
	if w.refused = status == http.StatusRequestedRangeNotSatisfiable; !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *partsWriter) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom allows files to be sent without a copy.
func (w *partsWriter) ReadFrom(r io.Reader) (int64, error) {
	if w.refused {
		return io.Copy(io.Discard, r)
	}
	return io.Copy(w.ResponseWriter, r)
}

// beyond is a byte position that no representation has.
const beyond = "9223372036854775807"

// ReadRange rewrites the header Range so that http.ServeContent follows RFC 9110, 14.1 and 14.2. It removes unknown
// units, ignores case, clips positions, and makes a suffix of length 0 unsatisfiable. Other malformed ranges get 416.
func ReadRange(h http.Header) {
	value := h.Get("Range")
	if value == "" {
		return
	}
	unit, set, found := strings.Cut(value, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		h.Del("Range")
		return
	}
	specs := strings.Split(set, ",")
	for i, spec := range specs {
		first, last, found := strings.Cut(strings.TrimSpace(spec), "-")
		if first, last = clipped(first), clipped(last); !found {
			continue
		}
		if specs[i] = first + "-" + last; first == "" && last == "0" {
			specs[i] = beyond + "-"
		}
	}
	h.Set("Range", "bytes="+strings.Join(specs, ","))
}

// clipped returns a position without leading zeros, at most beyond. It returns other texts unchanged.
func clipped(position string) string {
	position = strings.TrimSpace(position)
	if position == "" || strings.Trim(position, "0123456789") != "" {
		return position
	}
	n, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		return beyond
	}
	return strconv.FormatInt(n, 10)
}
