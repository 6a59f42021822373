//go:build !race

package postgis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/placename"
	"grense/internal/register"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// asked is a store that remembers the first question for all matches.
type asked struct {
	store.Store
	q store.Query
}

func (a *asked) All(ctx context.Context, q store.AllQuery) (*store.All, error) {
	if a.q.Collection == "" {
		a.q = q.Query
	}
	return a.Store.All(ctx, q)
}

// TestRegisterPlans looks at how the server answers searches of a register with statistics: which index drives them,
// that no table is read whole, and that nothing is sorted where an index has the order.
// In make soak the register has 50,000 places, else 10,000. Making it takes too long with the race detector.
func TestRegisterPlans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	places := 10_000
	if sharedtest.Soak(t) > 0 {
		places = 50_000
	}
	url := cluster.Database(t)
	create(t, url, func(w store.Writer) {
		if err := demo.Write(ctx, w); err != nil {
			t.Fatal(err)
		}
		if err := register.Generate(ctx, w, register.Options{Places: places, Seed: 1}); err != nil {
			t.Fatal(err)
		}
	})
	run(t, url, "VACUUM ANALYZE") // as the server does by itself in a minute
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	read := func(sql string, to ...any) {
		t.Helper()
		if err := c.QueryRow(ctx, sql).Scan(to...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var name, kommune, type_, rare, farmIn, farm string
	var number int64
	var half, late time.Time
	read("SELECT langnavn, stedsnummer FROM grense.skrivemaate WHERE rang = 1000", &name, &number)
	read("SELECT kommunenummer FROM grense.sted_kommune GROUP BY 1 ORDER BY count(*) DESC LIMIT 1", &kommune)
	read("SELECT navneobjekttype FROM grense.sted GROUP BY 1 ORDER BY count(*) DESC LIMIT 1", &type_)
	read("SELECT navneobjekttype FROM grense.sted GROUP BY 1 ORDER BY count(*) LIMIT 1", &rare)
	read("SELECT kommunenummer, gaardsnummer::text FROM grense.matrikkel_sted ORDER BY id LIMIT 1", &farmIn, &farm)
	read("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY oppdatert), percentile_disc(0.999) WITHIN GROUP (ORDER "+
		"BY oppdatert) FROM grense.sted", &half, &late)
	base := openStore(t, url, postgis.Options{})
	sted := func(fill func(*api.StedSoek)) api.Request {
		r := &api.FindSteder{}
		fill(&r.StedSoek)
		return r
	}
	named := func(text string) api.Request { return sted(func(s *api.StedSoek) { s.Stedsnavn = &text }) }
	begin, end := string([]rune(name)[:5]), string([]rune(name)[2:])
	for what, tt := range map[string]struct {
		r       api.Request
		indexes string // that the plan has, separated by blanks
		sorts   bool   // few rows of another index
	}{
		"exact name":         {named(name), "skrivemaate_norm sted_pkey", true},
		"prefix":             {named(begin + "*"), "skrivemaate_norm sted_pkey", true},
		"suffix":             {named("*" + end), "skrivemaate_rev sted_pkey", true},
		"infix":              {named("*" + end[:len(end)-1] + "*"), "skrivemaate_gram sted_pkey", true},
		"prefix and suffix":  {named(begin + "*" + end[len(end)-2:]), "skrivemaate_norm sted_pkey", true},
		"number":             {sted(func(s *api.StedSoek) { s.Stedsnummer = &number }), "sted_stedsnummer", true},
		"updated after half": {sted(func(s *api.StedSoek) { s.OppdatertEtter = &half }), "sted_rang", false},
		"updated lately":     {sted(func(s *api.StedSoek) { s.OppdatertEtter = &late }), "sted_oppdatert", true},
		"municipality": {sted(func(s *api.StedSoek) {
			s.KommunerIds = []string{kommune}
		}), "sted_kommune sted_rang", true},
		"type": {sted(func(s *api.StedSoek) {
			s.NavneobjekttyperIds = []string{type_}
		}), "sted_navneobjekttype", false},
		"municipality and type": {sted(func(s *api.StedSoek) {
			s.KommunerIds, s.NavneobjekttyperIds = []string{kommune}, []string{rare}
		}), "sted_kommune_type", true},
		"name in a municipality": {sted(func(s *api.StedSoek) {
			s.KommunerIds, s.Stedsnavn = []string{kommune}, &name
		}), "skrivemaate_norm sted_kommune", true},
		"everything": {sted(func(*api.StedSoek) {}), "sted_rang", false},
		"a farm": {&api.FindStederForMatrikkelenhetreferanse{
			Soek: api.StedMatrikkelenhetreferanseSoek{Kommunenummer: farmIn, Gaardsnummer: farm}},
			"matrikkel_sted_enhet", true},
		"names by prefix": {&api.FindStedsnavn{StedsnavnSoek: api.StedsnavnSoek{Stedsnavn: new(begin + "*")}},
			"skrivemaate_norm stedsnavn_pkey", true},
		"spellings by prefix": {&api.FindSkrivemaater{
			SkrivemaateSoek: api.SkrivemaateSoek{Stedsnavn: new(begin + "*")}}, "skrivemaate_norm", true},
	} {
		t.Run(what, func(t *testing.T) {
			a := &asked{Store: base}
			if _, err := placename.New(a, placename.Options{MaxHits: 1000}).Search(ctx, tt.r); err != nil {
				if _, refused := err.(*api.Refusal); !refused {
					t.Fatal(err)
				}
			}
			for _, whole := range []bool{false, true} {
				if whole && !tt.sorts {
					continue // so many match that reading any table finds too many soon
				}
				plan, err := base.Plan(ctx, a.q, whole)
				if err != nil {
					t.Fatal(err)
				}
				for index := range strings.FieldsSeq(tt.indexes) {
					if !strings.Contains(plan, index) {
						t.Errorf("the index %s does not serve", index)
					}
				}
				if strings.Contains(plan, "Seq Scan") || !tt.sorts && strings.Contains(plan, "Sort") {
					t.Error("a table is read whole, or sorted")
				}
				if t.Failed() {
					t.Log(plan)
				}
			}
		})
	}
	for _, x := range [][2]string{{"sted", "sted_gram"}, {"stedsnavn", "stedsnavn_gram"}} {
		c, ok := base.Catalog().Collection(x[0])
		if !ok {
			t.Fatalf("no collection %q", x[0])
		}
		words := cql2.Search{Props: c.SearchNames(), Terms: []string{cql2.Words(name)}}
		plan, err := base.Plan(ctx, store.Query{Collection: c.ID, Filter: words, Rank: &words, Limit: 10}, false)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, x[1]) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("words of %s:\n%s", c.ID, plan)
		}
	}
}
