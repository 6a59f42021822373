package soap

import (
	"grense/api/placename"
	"grense/internal/cache"
)

// message is a message as it was read. One that was read without a failure is immutable.
type message struct {
	envelope  *envelope
	operation string // of the contract; "" for none
	request   placename.Request
	question  []byte // what the answer depends on: not on who asks, nor on how the message is written
}

// messageKey names a message by its bytes.
type messageKey struct {
	version version
	body    string
}

// messageBytes is how much of messages that were read is held, since programs send the same ones again; messageMost is the longest of them.
const (
	messageBytes = 4 << 20
	messageMost  = 4 << 10
)

func newMessages(g *cache.Group) *cache.Cache[messageKey, *message] {
	return cache.New[messageKey, *message](cache.Options{Name: "soap_messages", Bytes: messageBytes, Shards: 4, Group: g})
}

// message reads a message, as far as that goes where there is a failure.
func (s *Service) message(body []byte, v version) (*message, *failure) {
	k := messageKey{v, string(body)}
	if m, ok := s.messages.Get(k); ok {
		return m, nil
	}
	e := s.shapes.read(k.body, v, s.config.Limits)
	if e == nil {
		var leaves []leaf
		var f *failure
		if e, leaves, f = parse(body, v, s.config.Limits); f != nil {
			return &message{envelope: e}, f
		}
		if len(body) <= messageMost {
			s.shapes.keep(k.body, e, leaves)
		}
	}
	m := &message{envelope: e}
	if _, ok := placename.TheContract().Operation(e.child.Name); ok {
		m.operation = e.child.Name
	}
	var err error
	if m.request, err = placename.Decode(e.child, s.bases, s.config.Unknown); err != nil {
		return m, failureOf(err)
	}
	c := m.request.Context()
	who := *c
	*c = placename.StedsnavnContext{SnapshotVersion: c.SnapshotVersion}
	base, _ := e.child.Base(s.bases)
	m.question = placename.AppendRequest(nil, m.request, base)
	*c = who
	if len(body) <= messageMost {
		s.messages.Put(k, m, int64(8*len(body)+1024))
	}
	return m, nil
}
