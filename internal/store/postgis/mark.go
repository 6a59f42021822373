package postgis

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// marker asks for marks over a connection of its own, on which there is one question at a time. Who comes while one is under way waits for the next one, together with all others who do: no mark is of
// before it was asked for. It is best effort: whatever fails, and where it is not sure that the server is that of the pool, the pool has to answer. It is safe for concurrent use.
type marker struct {
	pool    *pgxpool.Pool // whose settings the connection has
	servers *servers      // of the pool
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup

	mu     sync.Mutex
	there  bool       // there is a connection
	free   *markLine  // it, while nobody asks over it
	next   *markRound // of those who wait; nil: nobody does
	making bool       // the connection
	pause  time.Time  // none is made before
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
	// markWait bounds how long a server may take to tell a mark over the connection for marks: between half of it and all.
	markWait = time.Second
	// markPause is that before a new connection for marks is made after one that failed or was closed.
	markPause = 5 * time.Second
	// markAge is when the connection for marks gives way to a new one, as those of a pool do.
	markAge = time.Hour
	// mostMarked bounds the statements that the connection has prepared.
	mostMarked = 64
)

func newMarker(ctx context.Context, pool *pgxpool.Pool, s *servers) *marker {
	k := &marker{pool: pool, servers: s}
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
	if k.free != nil {
		k.free.close()
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
	if l := k.free; l != nil {
		k.free = nil
		if k.holds(l) {
			return l, nil
		}
		k.drop(l)
	}
	if !k.there {
		k.make()
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
		k.free = l
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

// drop closes the connection, so that the pool answers who waits, and all for a while. The mutex is held.
func (k *marker) drop(l *markLine) {
	l.close()
	k.pause = time.Now().Add(markPause)
	if k.there = false; k.next != nil {
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
		k.there = true
		k.give(l)
	})
}

// markLine is the connection for marks. One at a time uses it.
type markLine struct {
	conn   net.Conn
	front  *pgproto3.Frontend
	server string // as serverOf has it
	born   time.Time
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
	if err := settingsCame(toAsk)(ctx, c); err != nil {
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
	return &markLine{conn: h.Conn, front: h.Frontend, server: server, born: time.Now(), known: map[string][]byte{}}, nil
}

// ask is marker.ask. After an error the connection is of no use.
func (l *markLine) ask(sql string) (mark string, err error) {
	if now := time.Now(); l.until.Sub(now) < markWait/2 {
		l.until = now.Add(markWait)
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
	return c.RuntimeParams[poolMode] == "" && !slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}
