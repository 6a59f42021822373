// Package lineage serves the history of codes, the lineage of divisions and the log of changes.
package lineage

import (
	"context"
	"net/http"

	"grense/internal/feed"
	"grense/internal/history"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/media"
)

// Surface serves the routes and records changes. Pass its method Routes to server.New.
type Surface struct {
	*server.Kit
	codes    *codes.Codes
	recorder *feed.Recorder // nil: changes are not recorded
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	codes.Reader
	s *Surface
}

func (s *Surface) call(c *server.Call) *call { return &call{c, s.codes.Reader(c), s} }

func (s *Surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

func (s *Surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

// Routes returns the routes of lineage, codes and changes.
func (s *Surface) Routes(k *server.Kit, h *codes.Codes) []server.Route {
	s.Kit, s.codes = k, h
	if s.recorder = s.newRecorder(); s.recorder != nil {
		k.OnReload(s.recorder.Wake)
	}
	pages := []media.Format{media.JSON, media.HTML}
	tables := []media.Format{media.JSON, media.CSV, media.HTML}
	feeds := []media.Format{media.JSON, media.Atom, media.JSONFeed, media.HTML}
	return []server.Route{
		{Path: "/collections/{collectionId}/items/{featureId}/lineage", Op: "getLineage", After: "getVersions",
			Tag: "History", Summary: "Lineage of a feature",
			Description: "The predecessors and successors of a division, event by event: new names, new numbers, " +
				"mergers and splits. Retired codes have a lineage, too. With until, the response also has the codes " +
				"of the division on that day. Shares are given only if they are known.",
			Data: true, Lineage: true, Params: []*server.Param{paramDirection, paramUntil, paramAt},
			New: newHistoryParams, Formats: pages, Schema: server.SchemaNamed("lineage"), Stream: s.stream(s.lineage)},
		{Path: "/codes", Op: "getCodeSchemes", After: "search", Tag: "History", Summary: "Schemes of codes",
			Description: "The schemes of codes whose history is known, such as those of municipalities and counties.",
			Lineage:     true, Formats: tables, Schema: server.SchemaNamed("codeSchemes"), Get: s.get(s.schemes)},
		{Path: "/codes/{schemeId}", Op: "getCodes", After: "getCodeSchemes", Tag: "History",
			Summary: "The codes of a scheme",
			Description: "The codes of a scheme that are in use on a day, with their names, in the order of codes; " +
				"without datetime those of today.",
			Lineage: true, Params: []*server.Param{paramCodesLimit, paramCodesOffset, paramAt}, New: newHistoryParams,
			Formats: tables, Schema: server.SchemaNamed("codesOfScheme"), Get: s.get(s.codesOf)},
		{Path: "/codes/{schemeId}/{code}", Op: "getCode", After: "getCodes", Tag: "History",
			Summary: "What a code stands for, or stood for",
			Description: "The divisions that a code has stood for, each with its period, its parent and its " +
				"successors; with datetime, the one of that day. There may be several, since codes are reused.",
			Lineage: true, Params: []*server.Param{paramAt}, New: newHistoryParams, Formats: pages,
			Schema: server.SchemaNamed("codeHistory"), Get: s.get(s.code)},
		{Path: "/changes", Op: "getChanges", After: "getCode", Tag: "History",
			Summary: "What has changed in the data",
			Description: "The log of changes after a number. Numbers have no gaps, and entries never change. add, " +
				"update and remove concern one feature, which href returns; load says that a collection is new or " +
				"has a new schema: fetch all of it. drop says that it is gone or no longer recorded. A copy that " +
				"applies the changes in this order, and continues with after= the last number, equals the data. " +
				"Several changes of a feature between two checks of the data are one entry.",
			Data: true, Feed: true, Params: []*server.Param{paramAfter, paramChangesLimit}, New: newChangesParams,
			Formats: feeds, Schema: server.SchemaNamed("changes"), Stream: s.stream(s.changes)},
		{Path: "/changes/latest", Op: "getLatestChanges", After: "getChanges", Tag: "History",
			Summary: "The latest changes of the data",
			Description: "The last changes, the last one first, and the number of the last one, from which a copy " +
				"that is made now continues.",
			Data: true, Feed: true, Params: []*server.Param{paramLatestLimit}, New: newLatestParams, Formats: feeds,
			Schema: server.SchemaNamed("changes"), Stream: s.stream(s.latestChanges)},
	}
}

// newRecorder returns a recorder of changes; nil if they cannot be stored.
func (s *Surface) newRecorder() *feed.Recorder {
	if s.Changes == nil {
		return nil
	}
	return feed.New(feed.Options{Store: s.Store, From: s.Direct, Kept: s.Changes, Log: s.Log,
		Most: s.Config.Limits.Changes, Whole: func(id string) bool { return id != history.EventsID }})
}

// Run records changes of the data until ctx ends. It returns at once if changes cannot be stored.
func (s *Surface) Run(ctx context.Context) {
	if s.recorder != nil {
		s.recorder.Run(ctx)
	}
}

// Record records the changes since the last record. It fails if changes cannot be stored.
func (s *Surface) Record(ctx context.Context) error {
	if s.recorder == nil {
		return errNoChanges()
	}
	_, err := s.recorder.Look(ctx)
	return err
}
