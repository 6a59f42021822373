package postgis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// marker asks for marks over connections of its own, on each of which there is one question at a time. Who comes while all have one waits for the next, together with all others who do: no mark is of
// before it was asked for. It is best effort: whatever fails, and where it is not sure that the server is that of the pool, the pool has to answer. It is safe for concurrent use.
type marker struct {
	pool    *pgxpool.Pool // whose settings the connections have
	most    int           // connections
	servers *servers      // of the pool
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup

	mu     sync.Mutex
	lines  int         // connections that there are
	free   []*markLine // those over which nobody asks; the one that was asked over last is the last
	next   *markRound  // of those who wait, while none is free; nil: nobody does
	making bool        // a connection
	pause  time.Time   // none is made before
}

// markRound is a question for those who wait for it.
type markRound struct {
	sql     string
	call    chan *markLine // has one when one of those who wait is to ask
	done    chan struct{}  // closed when it was asked
	waiting int            // guarded by marker.mu

	mark string // what was told
	ok   bool   // false: nothing was
}

const (
	// mostToMark bounds the connections for marks. A question takes the server and the database some 20 µs each, so that with four nobody waits for another of a few who ask at once: a process that is
	// woken by another costs more than it saves the database.
	mostToMark = 4
	// markWait bounds how long a server may take to tell a mark over a connection for marks: between half of it and all.
	markWait = time.Second
	// markPause is that before a new connection for marks is made after one that failed or was closed.
	markPause = 5 * time.Second
	// markAge is when a connection for marks gives way to a new one, as those of a pool do.
	markAge = time.Hour
	// markIdle is when one that nobody needs beside the others is closed.
	markIdle = time.Minute
	// mostMarked bounds the statements that a connection has prepared.
	mostMarked = 64
)

// newMarker makes connections when they are first needed, most of them at most.
func newMarker(ctx context.Context, pool *pgxpool.Pool, s *servers, most int) *marker {
	k := &marker{pool: pool, servers: s, most: most}
	k.ctx, k.stop = context.WithCancel(ctx)
	return k
}

// close ends it; nobody asks any more.
func (k *marker) close() {
	if k == nil {
		return
	}
	k.stop()
	k.group.Wait()
	for _, l := range k.free {
		l.close()
	}
}

// ask is what a statement tells that gives one text; false: it has to be asked over the pool. It waits for the questions of others until ctx ends, and for the server for markWait.
func (k *marker) ask(ctx context.Context, sql string) (mark string, ok bool) {
	if k == nil {
		return "", false
	}
	l, r := k.take(sql)
	switch {
	case l != nil:
		return k.lead(l, sql)
	case r == nil:
		return "", false
	}
	select {
	case l := <-r.call:
		r.mark, r.ok = k.lead(l, sql)
		close(r.done)
	case <-r.done:
	case <-ctx.Done():
		k.leave(r)
		return "", false
	}
	return r.mark, r.ok
}

// take returns a connection to ask over, or a question to wait for; neither: the pool has to answer.
func (k *marker) take(sql string) (*markLine, *markRound) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.free); n > 0 {
		l := k.free[n-1]
		k.free = k.free[:n-1]
		if k.holds(l) {
			return l, nil
		}
		k.drop(l)
	}
	if k.lines < k.most {
		k.make()
	}
	if k.lines == 0 {
		return nil, nil
	}
	if k.next == nil {
		k.next = &markRound{sql: sql, call: make(chan *markLine, 1), done: make(chan struct{})}
	}
	if k.next.sql != sql {
		return nil, nil
	}
	k.next.waiting++
	return nil, k.next
}

// lead asks, and gives the connection to one of those who wait, or back.
func (k *marker) lead(l *markLine, sql string) (mark string, ok bool) {
	mark, err := l.ask(sql)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.give(l)
		return mark, true
	}
	k.drop(l)
	return "", false
}

// holds reports whether a connection is to the server that the pool has, and not too old.
func (k *marker) holds(l *markLine) bool {
	return k.servers.only(l.server) && time.Since(l.born) < markAge
}

// give has one of those who wait ask over the connection. The mutex is held.
func (k *marker) give(l *markLine) {
	r := k.next
	switch {
	case r == nil:
		k.free = append(k.free, l)
		if first := k.free[0]; l.asked.Sub(first.asked) > markIdle {
			k.free, k.lines = slices.Delete(k.free, 0, 1), k.lines-1
			first.close()
		}
	case !k.holds(l):
		k.drop(l)
	default:
		k.next = nil // who comes now waits for another
		r.call <- l
	}
}

// leave is for who waits no longer.
func (k *marker) leave(r *markRound) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return
	}
	if k.next == r {
		k.next = nil
	}
	select {
	case l := <-r.call: // nobody is left who could ask
		k.give(l)
	default:
	}
}

// drop closes a connection, and those that are free, which are no better, and makes none for a while. Where none is left the pool answers, also who waits. The mutex is held.
func (k *marker) drop(l *markLine) {
	for _, l := range append(k.free, l) {
		l.close()
		k.lines--
	}
	k.free, k.pause = nil, time.Now().Add(markPause)
	if k.lines == 0 && k.next != nil {
		close(k.next.done)
		k.next = nil
	}
}

// make begins to make a connection, unless that is under way or has failed of late. The mutex is held.
func (k *marker) make() {
	if k.making || k.ctx.Err() != nil || time.Now().Before(k.pause) {
		return
	}
	k.making = true
	k.group.Go(func() {
		l, err := dialMarks(k.ctx, k.pool.Config())
		k.mu.Lock()
		defer k.mu.Unlock()
		k.making = false
		if err != nil {
			k.pause = time.Now().Add(markPause)
			return
		}
		k.lines++
		k.give(l)
	})
}

// markLine is a connection for marks. One at a time uses it.
type markLine struct {
	conn   net.Conn
	front  *pgproto3.Frontend
	server string // as serverOf has it
	born   time.Time
	asked  time.Time // when it was last asked over
	until  time.Time // the deadline of conn

	known map[string][]byte // what asks a statement that is prepared, by its text
	sql   string            // that was asked last
	asks  []byte            // for it
	mark  string            // that was told last
}

// dialMarks makes a connection as those of a pool are.
func dialMarks(ctx context.Context, cfg *pgxpool.Config) (*markLine, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnConfig.ConnectTimeout+time.Second)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, err
	}
	if err := arrived(toAsk)(ctx, c); err != nil {
		c.Close(ctx)
		return nil, err
	}
	server := serverOf(c.PgConn())
	if err := c.PgConn().SyncConn(ctx); err != nil {
		c.Close(ctx)
		return nil, err
	}
	h, err := c.PgConn().Hijack()
	if err != nil {
		c.Close(ctx)
		return nil, err
	}
	return &markLine{conn: h.Conn, front: h.Frontend, server: server, born: time.Now(), asked: time.Now(), known: map[string][]byte{}}, nil
}

// ask is marker.ask. After an error the connection is of no use.
func (l *markLine) ask(sql string) (mark string, err error) {
	if l.asked = time.Now(); l.until.Sub(l.asked) < markWait/2 {
		l.until = l.asked.Add(markWait)
		if err := l.conn.SetDeadline(l.until); err != nil {
			return "", err
		}
	}
	send := l.asks
	if sql != l.sql {
		if send, err = l.asksFor(sql); err != nil {
			return "", err
		}
	}
	if _, err := l.conn.Write(send); err != nil {
		return "", err
	}
	told := false
	for {
		msg, err := l.front.Receive()
		if err != nil {
			return "", err
		}
		switch m := msg.(type) {
		case *pgproto3.DataRow:
			if told = len(m.Values) == 1; told && string(m.Values[0]) != l.mark {
				l.mark = string(m.Values[0])
			}
		case *pgproto3.ErrorResponse:
			return "", pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			if !told {
				return "", errBroken
			}
			return l.mark, nil
		}
	}
}

// asksFor are the messages that ask a statement, which prepare it where it is not known.
func (l *markLine) asksFor(sql string) (send []byte, err error) {
	l.sql = sql
	if l.asks = l.known[sql]; l.asks != nil {
		return l.asks, nil
	}
	if len(l.known) >= mostMarked {
		return nil, errors.New("postgis: too many statements for marks")
	}
	name := "mark" + strconv.Itoa(len(l.known))
	parse := &pgproto3.Parse{Name: name, Query: sql}
	if send, err = parse.Encode(nil); err != nil {
		return nil, err
	}
	for _, m := range [...]pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: name}, &pgproto3.Execute{}, &pgproto3.Sync{}} {
		if l.asks, err = m.Encode(l.asks); err != nil {
			return nil, err
		}
	}
	l.known[sql] = l.asks
	return append(send, l.asks...), nil
}

// close says good-bye as far as that needs no wait.
func (l *markLine) close() {
	l.conn.SetDeadline(time.Now().Add(markWait / 10))
	if b, err := (&pgproto3.Terminate{}).Encode(nil); err == nil {
		l.conn.Write(b)
	}
	l.conn.Close()
}

// servers tells to which servers the connections of a pool are. It is safe for concurrent use.
type servers struct {
	one bool          // the address names one
	run atomic.Uint64 // of that, as layer.revision has it: what the connection that was made last tells

	mu   sync.Mutex
	live map[string]int // connections by server
}

// serverName is the name of serverOf in the data of a connection.
const serverName = "grense.server"

// serverOf names the server of a connection as far as can be told without a question: behind one address there may be one that takes changes, and others that follow.
func serverOf(c *pgconn.PgConn) string {
	return c.Conn().RemoteAddr().String() + " " + c.ParameterStatus("in_hot_standby")
}

// watch makes the configuration of a pool tell of its connections.
func (s *servers) watch(cfg *pgxpool.Config) {
	after := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if after != nil {
			if err := after(ctx, c); err != nil {
				return err
			}
		}
		if run, ok := c.PgConn().CustomData()[runName].(string); ok && s.one {
			sum := sha256.Sum256([]byte(run))
			s.run.Store(binary.BigEndian.Uint64(sum[:]))
		}
		server := serverOf(c.PgConn())
		c.PgConn().CustomData()[serverName] = server
		s.mu.Lock()
		defer s.mu.Unlock()
		s.live[server]++
		return nil
	}
	cfg.BeforeClose = func(c *pgx.Conn) {
		server, _ := c.PgConn().CustomData()[serverName].(string)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.live[server]--; s.live[server] <= 0 {
			delete(s.live, server)
		}
	}
}

// only reports whether the pool has connections, and all to a server.
func (s *servers) only(server string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) == 1 && s.live[server] > 0
}

// isOne reports whether an address names one server, which answers by itself.
func isOne(c *pgx.ConnConfig) bool {
	return c.RuntimeParams[poolMode] == "" && !isSeveral(c)
}
