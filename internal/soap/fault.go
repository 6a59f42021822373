package soap

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"grense/api/placename"
	"grense/internal/problem"
)

// failure is the reason for refusing a call, independent of SOAP version and language.
type failure struct {
	code     code
	category placename.Category
	detail   bool // the fault contains a ServiceException
	status   int  // HTTP status; 0: by the SOAP version and the code
	text     func(placename.Lang) string
	header   func(b []byte) []byte // appends header blocks of the fault; nil: none
	cause    error                 // for the log
}

// code is a fault code. The versions have the same five codes, with two different names, and one that we never send.
type code uint8

const (
	codeClient code = iota
	codeServer
	codeVersion
	codeUnderstand
)

var codeNames = [...][2]string{
	codeClient:     {"Client", "Sender"},
	codeServer:     {"Server", "Receiver"},
	codeVersion:    {"VersionMismatch", "VersionMismatch"},
	codeUnderstand: {"MustUnderstand", "MustUnderstand"},
}

// because sets the cause, for the log.
func (f *failure) because(err error) *failure {
	f.cause = err
	return f
}

// bare returns the failure for an unreadable message. The parser adds the detail if it has reached the body's child.
func bare(t text) *failure {
	return &failure{category: placename.Validation, text: t.in}
}

// transport returns the failure for a request that is refused by HTTP status.
func transport(status int, t text) *failure {
	return &failure{category: placename.Validation, text: t.in, status: status}
}

// limit returns the failure for a message that exceeds a limit of n.
func limit(t text, n int64) *failure {
	return &failure{
		category: placename.LimitExceeded,
		text:     func(l placename.Lang) string { return fmt.Sprintf(t.in(l), n) },
	}
}

// versionMismatch returns the failure that lists the supported envelopes: SOAP 1.2 Part 1, 5.4.7 and appendix A.
func versionMismatch() *failure {
	f := bare(textVersion)
	f.code = codeVersion
	f.header = func(b []byte) []byte {
		b = append(b, `<u:Upgrade xmlns:u="`+placename.Envelope12+`">`...)
		for _, ns := range [...]string{placename.Envelope12, placename.Envelope11} {
			b = append(b, `<u:SupportedEnvelope qname="e:Envelope" xmlns:e="`+ns+`"/>`...)
		}
		return append(b, `</u:Upgrade>`...)
	}
	return f
}

// mustUnderstand returns the failure that names header blocks that are not understood (SOAP 1.2 Part 1, 5.4.8), at most
// ten. SOAP 1.1 has no place for them except the text.
func mustUnderstand(names []xml.Name) *failure {
	names = names[:min(len(names), 10)]
	f := &failure{code: codeUnderstand, category: placename.Validation}
	f.text = func(l placename.Lang) string {
		var b strings.Builder
		for i, n := range names {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "{%s}%s", safe(n.Space, 200), safe(n.Local, 100))
		}
		return fmt.Sprintf(textUnderstand.in(l), b.String())
	}
	f.header = func(b []byte) []byte {
		for _, n := range names {
			b = append(b, `<u:NotUnderstood xmlns:u="`+placename.Envelope12+`" qname="n:`...)
			b = placename.AppendText(b, n.Local)
			b = append(b, `" xmlns:n="`...)
			b = placename.AppendText(b, n.Space)
			b = append(b, `"/>`...)
		}
		return b
	}
	return f
}

// failureOf converts an error of a search.
func failureOf(err error) *failure {
	if refusal := (*placename.Refusal)(nil); errors.As(err, &refusal) {
		f := &failure{category: placename.Validation, detail: true, text: refusal.Text, cause: err}
		if refusal.Limit() {
			f.category = placename.LimitExceeded
		}
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = problem.New(problem.Timeout, err, "")
	}
	return failureOfProblem(problem.Of(err))
}

// failureOfProblem converts a problem. Its detail and faults are in English: clients with other languages get them only
// if they explain what is wrong with the request.
func failureOfProblem(e *problem.Error) *failure {
	f := &failure{detail: true, cause: e}
	var t text
	switch e.Kind {
	case problem.Invalid, problem.NotFound, problem.NotAcceptable, problem.Gone:
		f.category, t = placename.Validation, textInvalid
	case problem.Method, problem.MediaType, problem.Precondition, problem.Range:
		f.category, f.detail, t = placename.Validation, false, textInvalid
	case problem.Forbidden:
		f.category, t = placename.Authentication, textForbidden
	case problem.Unauthorized:
		f.category, t = placename.Authentication, textUnauthorized
	case problem.TooLarge:
		f.category, t = placename.LimitExceeded, textTooLarge
	case problem.TooMany:
		f.category, f.status, t = placename.LimitExceeded, http.StatusTooManyRequests, textTooMany
	case problem.Busy:
		f.code, f.category, f.status, t = codeServer, placename.Unavailable, http.StatusServiceUnavailable, textBusy
	case problem.Timeout:
		f.code, f.category, t = codeServer, placename.Timeout, textTimeout
	case problem.Unavailable:
		f.code, f.category, f.status, t = codeServer, placename.Unavailable, http.StatusServiceUnavailable,
			textUnavailable
	case problem.Internal:
		f.code, f.category, f.text = codeServer, placename.Internal, textInternal.in
		return f
	default:
		panic(fmt.Sprintf("soap: no fault for %s", e.Kind))
	}
	f.text = func(l placename.Lang) string {
		if f.category != placename.Validation && f.category != placename.LimitExceeded && l != placename.English {
			return t.in(l)
		}
		return strings.TrimSpace(t.in(l) + " " + clientText(e))
	}
	return f
}

// clientText returns the message of a problem for the client.
func clientText(e *problem.Error) string {
	parts := []string{}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	for _, x := range e.Faults {
		parts = append(parts, fmt.Sprintf("%s = %q: %s.", x.Param, x.Value, x.Cure))
	}
	return strings.Join(parts, " ")
}

// transportStatus is the HTTP status of problems that are found before the message is read.
var transportStatus = map[problem.Kind]int{
	problem.NotFound:     http.StatusNotFound,
	problem.Method:       http.StatusMethodNotAllowed,
	problem.MediaType:    http.StatusUnsupportedMediaType,
	problem.TooLarge:     http.StatusRequestEntityTooLarge,
	problem.Unauthorized: http.StatusUnauthorized,
	problem.Forbidden:    http.StatusForbidden,
	problem.Unavailable:  http.StatusServiceUnavailable,
	problem.Busy:         http.StatusServiceUnavailable,
	problem.TooMany:      http.StatusTooManyRequests,
	problem.Gone:         http.StatusGone,
	problem.Precondition: http.StatusPreconditionFailed,
	problem.Range:        http.StatusRequestedRangeNotSatisfiable,
}

// WriteFault writes a problem that was found before the message was read as a fault: a missing key (401; the caller
// sets WWW-Authenticate), overload (503), a rate limit (429; the caller sets Retry-After, else it is one second), or a
// method (405; the caller sets Allow). The SOAP version is that of the request's Content-Type. The language is that of
// Accept-Language; for a missing key, that of the locale in the message.
func (s *Service) WriteFault(w http.ResponseWriter, r *http.Request, e *problem.Error) {
	f := failureOfProblem(e)
	f.status = transportStatus[e.Kind]
	lang := acceptedLang(r)
	if e.Kind == problem.Unauthorized && r.Method == http.MethodPost {
		if locale := peekLocale(r); locale != "" {
			lang = placename.LangOf(locale)
		}
	}
	s.fail(w, r, &envelope{version: versionOf(r), lang: lang}, f)
}

// peekBytes is the largest number of bytes of a message that are read only to find its locale.
const peekBytes = 16 << 10

var localeElement = regexp.MustCompile(`<(?:[\w.-]+:)?locale(?:\s[^<>]*)?>\s*([A-Za-z_-]{2,16})\s*</`)

// peekLocale returns the locale in the beginning of a message that is otherwise not read; "" if there is none.
func peekLocale(r *http.Request) string {
	b, _ := io.ReadAll(io.LimitReader(r.Body, peekBytes)) // on error, use what was read
	if m := localeElement.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return ""
}

// acceptedLang returns the first language in Accept-Language that faults have; Bokmål by default.
func acceptedLang(r *http.Request) placename.Lang {
	for tag := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ = strings.Cut(strings.TrimSpace(tag), ";")
		switch primary, _, _ := strings.Cut(strings.ToLower(tag), "-"); primary {
		case "nb", "no", "nn", "en":
			return placename.LangOf(tag)
		}
	}
	return placename.Bokmaal
}

// statusOf returns the HTTP status of a fault: SOAP 1.1, 6.2; SOAP 1.2 Part 2, table 20.
func (f *failure) statusOf(v version) int {
	switch {
	case f.status != 0:
		return f.status
	case v == soap12 && f.code == codeClient:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// fail writes f as the response to a message, as far as that was read.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, e *envelope, f *failure) {
	base, lang, id := s.config.NamespaceBase, e.lang, s.config.RequestID(r)
	if e.child != nil {
		lang = placename.LangOf(e.child.Locale())
		if b, ok := e.child.Base(s.bases); ok {
			base = b
		}
	}
	status := f.statusOf(e.version)
	if s.config.FaultsBySOAP && f.detail { // a method or a media type has no detail and is not a fault of a message
		plain := *f
		plain.status = 0
		status = plain.statusOf(e.version)
	}
	operation := ""
	if e.child != nil {
		if op, ok := placename.TheContract().Operation(e.child.Name); ok {
			operation = op.Name
		}
	}
	if (f.status == http.StatusServiceUnavailable || f.status == http.StatusTooManyRequests) &&
		w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	s.logFault(r, f, id, status, operation)
	if s.config.Failed != nil {
		s.config.Failed(r, f.text, f.cause)
	}
	buffer := s.buffers.Get().(*[]byte)
	defer s.buffers.Put(buffer)
	b := appendFault((*buffer)[:0], e, f, faultContext{base, lang, id})
	*buffer = b
	w.Header().Set("Content-Type", contentTypeOf(e.version))
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	w.Write(b) //nolint:errcheck // nothing can be sent if the client has gone
}

// faultContext is the context in which a fault is written.
type faultContext struct {
	base string
	lang placename.Lang
	id   string // of the request
}

func appendFault(b []byte, e *envelope, f *failure, c faultContext) []byte {
	message := f.text(c.lang)
	b = append(b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<S:Envelope xmlns:S="`...)
	b = append(b, envelopeNS[e.version]...)
	b = append(b, `">`...)
	switch {
	case f.header != nil && (e.version == soap12 || f.code == codeVersion):
		b = append(f.header(append(b, "<S:Header>"...)), "</S:Header>"...)
	case f.detail && e.child != nil:
		b = e.relates.append(b, c.base+placename.ActionPath(e.child.Name)+"/Fault/ServiceException")
	}
	b = append(b, "<S:Body><S:Fault>"...)
	detailTag := "detail"
	if e.version == soap11 {
		b = append(b, "<faultcode>S:"...)
		b = append(b, codeNames[f.code][soap11]...)
		b = append(b, `</faultcode><faultstring xml:lang="`...)
		b = append(b, c.lang.Tag()...)
		b = append(placename.AppendText(append(b, `">`...), message), "</faultstring>"...)
	} else {
		detailTag = "S:Detail"
		b = append(b, "<S:Code><S:Value>S:"...)
		b = append(b, codeNames[f.code][soap12]...)
		b = append(b, `</S:Value></S:Code><S:Reason><S:Text xml:lang="`...)
		b = append(b, c.lang.Tag()...)
		b = append(placename.AppendText(append(b, `">`...), message), "</S:Text></S:Reason>"...)
	}
	if f.detail {
		b = append(append(append(b, '<'), detailTag...), '>')
		b = placename.AppendServiceException(b, &placename.ServiceFaultInfo{
			Category: string(f.category), StackTraceText: c.id,
			ExceptionDetail: placename.ExceptionDetail{ClassName: f.category.ClassName(), Message: message},
		}, c.base)
		b = append(append(append(b, "</"...), detailTag...), '>')
	}
	return append(b, "</S:Fault></S:Body></S:Envelope>\n"...)
}

func contentTypeOf(v version) string {
	if v == soap12 {
		return contentType12
	}
	return contentType11
}
