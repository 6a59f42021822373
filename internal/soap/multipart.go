package soap

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
)

// related holds the parameters of a multipart message: RFC 2387, and SOAP Message Transmission Optimization Mechanism,
// 3.
type related struct {
	boundary string
	root     string // Content-ID of the part with the envelope; "": the first
}

// readRelated checks the parameters of a multipart message and returns the version of its envelope.
func readRelated(params map[string]string) (*related, version, *failure) {
	if params["boundary"] == "" {
		return nil, soap11, transport(http.StatusUnsupportedMediaType, textMultipart)
	}
	of := params["type"]
	if strings.EqualFold(of, "application/xop+xml") {
		of = params["start-info"]
	}
	v := soap11
	if media, _, _ := strings.Cut(of, ";"); strings.EqualFold(strings.TrimSpace(media), "application/soap+xml") {
		v = soap12
	}
	return &related{params["boundary"], params["start"]}, v, nil
}

// envelope returns the part with the envelope, and its charset. Other parts are ignored; the decoder refuses envelopes
// that refer to them.
func (m *related) envelope(body []byte) (b []byte, charset string, f *failure) {
	parts := multipart.NewReader(bytes.NewReader(body), m.boundary)
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, "", transport(http.StatusUnsupportedMediaType, textMultipart)
		}
		if err != nil {
			return nil, "", transport(http.StatusUnsupportedMediaType, textMultipart).because(err)
		}
		if m.root != "" && strings.Trim(p.Header.Get("Content-ID"), "<> ") != strings.Trim(m.root, "<> ") {
			continue
		}
		media, params, err := mime.ParseMediaType(quotedAction(p.Header.Get("Content-Type")))
		switch coding := strings.ToLower(p.Header.Get("Content-Transfer-Encoding")); {
		case err != nil || media != "application/xop+xml" && media != "text/xml" && media != "application/soap+xml":
			return nil, "", transport(http.StatusUnsupportedMediaType, textMultipart)
		case coding != "" && coding != "8bit" && coding != "7bit" && coding != "binary":
			return nil, "", transport(http.StatusUnsupportedMediaType, textMultipart)
		}
		charset = charsetOf(params["charset"])
		if _, ok := charsets[charset]; !ok && charset != "" {
			return nil, "", transport(http.StatusUnsupportedMediaType, textCharset)
		}
		if b, err = io.ReadAll(p); err != nil {
			return nil, "", transport(http.StatusUnsupportedMediaType, textMultipart).because(err)
		}
		return b, charset, nil
	}
}
