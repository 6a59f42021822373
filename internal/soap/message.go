package soap

import "grense/api/placename"

// message is a parsed message.
type message struct {
	envelope  *envelope
	operation string // of the contract; "" if unknown
	request   placename.Request
	question  []byte // canonical form of the request without caller and notation; key of the response cache
}

// message parses a message. On failure it returns what was read.
func (s *Service) message(body []byte, v version) (m message, f *failure) {
	if m.envelope, f = parse(body, v, s.config.Limits); f != nil {
		return m, f
	}
	child := m.envelope.child
	if _, ok := placename.TheContract().Operation(child.Name); ok {
		m.operation = child.Name
	}
	var err error
	if m.request, err = placename.Decode(child, s.bases, s.config.Unknown); err != nil {
		return m, failureOf(err)
	}
	c := m.request.Context()
	who := *c
	*c = placename.StedsnavnContext{SnapshotVersion: c.SnapshotVersion}
	base, _ := child.Base(s.bases)
	m.question = placename.AppendRequest(nil, m.request, base)
	*c = who
	return m, nil
}
