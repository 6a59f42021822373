package processes

import (
	"bufio"
	"cmp"
	"errors"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/limit"
	"grense/internal/store"
)

// harmoniseReport is the name of the trailer with the counts (RFC 9110, 6.5).
const harmoniseReport = "Harmonise-Report"

const (
	// seriesCells is the number of values that a series holds in memory. It writes more to a file.
	seriesCells = 200_000
	// seriesMemory estimates the memory of a series with its texts, in bytes.
	seriesMemory = 64 << 20
)

// harmoniseParams are the parameters of a series.
type harmoniseParams struct {
	scheme  string
	options history.SeriesOptions
	columns history.SeriesColumns
}

func newHarmoniseParams(*server.Call) any {
	return &harmoniseParams{
		scheme:  history.Kommune,
		options: history.SeriesOptions{Weights: history.RefuseWeights, MaxCells: seriesCells, MaxKeys: seriesCells},
	}
}

// harmonise converts the values in the body to the divisions of one day. The response begins after the table has ended,
// since rows of one division may be anywhere in it.
func (s *Surface) harmonise(c *call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	t, err := c.openTable(w, harmoniseReport)
	if err != nil {
		return err
	}
	p := c.Params.(*harmoniseParams)
	h := &harmonisation{tableStream: t, ticket: s.Turns.NewTicket(c.Owner(), false),
		left: int64(s.Config.Processes.JobBytes)}
	p.options.Pause, p.options.Spill = h.pause, cmp.Or(s.TempDir(), os.TempDir())
	x, err := c.newSeries(p)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := cmp.Or(c.Pay(false), s.Flight.Admit(seriesMemory)); err != nil {
		return err
	}
	c.Hold(seriesMemory)
	if err := h.enter(); err != nil {
		return err
	}
	defer h.leave()
	p.columns.Lines = t.lines
	if err := x.Read(h, p.columns, nil); err != nil {
		return tableError(err)
	}
	if t.form {
		w.Header().Set("Content-Disposition",
			mime.FormatMediaType("attachment", map[string]string{"filename": t.fileName("harmonised")}))
	}
	out := bufio.NewWriterSize(h, 64<<10)
	report, err := x.Write(out, p.columns)
	if err = cmp.Or(err, out.Flush()); err != nil {
		return tableError(err)
	}
	return t.finish(report)
}

// newSeries checks the parameters and returns an empty series.
func (c *call) newSeries(p *harmoniseParams) (*history.Series, error) {
	h, err := c.History()
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, codes.ErrNoHistory()
	}
	if p.options.To == 0 {
		return nil, problem.Invalidf("to", "", "send the day whose divisions are wanted, as 2024-01-31")
	}
	s := h.Scheme(p.scheme)
	if s == nil {
		return nil, problem.Invalidf("scheme", p.scheme, "use one of %s", strings.Join(codes.SchemeIDs(h), ", "))
	}
	return s.NewSeries(p.options)
}

// tableError converts errors of a table for the client. It returns other errors unchanged.
func tableError(err error) error {
	_, fault := errors.AsType[*history.SeriesFault](err)
	if said := history.SayingOf(err); fault || errors.Is(err, history.ErrTooMany) {
		return &problem.Error{Kind: problem.Invalid, Detail: said.String(), Said: said}
	}
	return diskFullError(err)
}

// harmonisation is a request to harmonise a series. It holds a slot while it computes, and none while it waits for the
// client.
type harmonisation struct {
	*tableStream
	ticket *limit.Ticket
	in     bool          // it holds a slot
	since  time.Time     // start of the current slot
	worked time.Duration // total time in earlier slots
	left   int64         // bytes that the table may still have
}

// enter waits for a slot.
func (h *harmonisation) enter() error {
	t, ctx := h.c.s.Turns, h.c.Request.Context()
	if err := t.Enter(ctx, limit.CostWriting, h.ticket); err != nil {
		return err
	}
	h.ticket.Begun.Store(true)
	t.Charge(h.ticket.With(ctx), store.CostPage)
	h.in, h.since = true, time.Now()
	return nil
}

func (h *harmonisation) leave() {
	if h.in {
		h.in = false
		h.worked += time.Since(h.since)
		h.c.s.Turns.Leave(limit.CostWriting, h.ticket)
	}
}

// pause gives up the slot after 100 ms and waits for another. It fails if the client has disconnected or the work takes
// longer than syncTime.
func (h *harmonisation) pause() error {
	const turn = 100 * time.Millisecond
	if err := h.c.Request.Context().Err(); err != nil || time.Since(h.since) < turn {
		return err
	}
	h.leave()
	if h.worked > syncTime {
		return problem.New(problem.TooLarge, nil,
			"The series takes too long. Send it in parts, or run grense harmonise.")
	}
	return h.enter()
}

// Read reads from the client without a slot.
func (h *harmonisation) Read(b []byte) (int, error) {
	h.leave()
	n, err := h.tableStream.Read(b)
	if h.left -= int64(n); h.left < 0 {
		return 0, problem.New(problem.TooLarge, nil,
			"The table has more than %d bytes. Send it in parts, or run grense harmonise.",
			h.c.s.Config.Processes.JobBytes)
	}
	if e := h.enter(); e != nil {
		return 0, e
	}
	return n, err
}

// Write writes to the client without a slot.
func (h *harmonisation) Write(b []byte) (int, error) {
	h.leave()
	n, err := h.tableStream.Write(b)
	if err != nil {
		return n, err
	}
	return n, h.enter()
}
