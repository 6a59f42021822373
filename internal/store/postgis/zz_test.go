package postgis_test

import (
	"net"
	"context"
	"testing"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const zsql = `SELECT t."nr"::text, t.xmin, (SELECT count(*) FROM "public"."kommune" AS t WHERE (TRUE)) FROM "public"."kommune" AS t WHERE (TRUE) ORDER BY (t."nr"::text COLLATE "C") LIMIT $1::bigint OFFSET $2::bigint`

func BenchmarkBare(b *testing.B) {
	url := base(b, `CREATE TABLE kommune (nr TEXT COLLATE "C" PRIMARY KEY, fylke TEXT COLLATE "C", navn TEXT, geom GEOMETRY(Point, 4258));
		INSERT INTO kommune SELECT to_char(n, 'FM0000'), to_char(n % 20, 'FM00'), 'Navn ' || n, ST_Point(10 + n / 1000.0, 60, 4258) FROM generate_series(1, 357) AS n; ANALYZE`)
	p, err := pgxpool.New(context.Background(), url)
	if err != nil { b.Fatal(err) }
	b.Cleanup(p.Close)
	for _, pool := range []bool{true, false} {
		name := "conn"
		if pool { name = "pool" }
		b.Run(name, func(b *testing.B) {
			c, _ := p.Acquire(context.Background())
			defer c.Release()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			before := spent(b)
			b.ReportAllocs()
			for b.Loop() {
				var rows pgx.Rows
				var err error
				if pool {
					rows, err = p.Query(ctx, zsql, int64(11), int64(0))
				} else {
					rows, err = c.Query(ctx, zsql, int64(11), int64(0))
				}
				if err != nil { b.Fatal(err) }
				n := 0
				for rows.Next() { n++ }
				if n != 11 { b.Fatal(n) }
			}
			b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	b.Run("prepared", func(b *testing.B) {
		c, _ := p.Acquire(context.Background())
		defer c.Release()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		pc := c.Conn().PgConn()
		sd, err := pc.Prepare(ctx, "x", zsql, nil)
		if err != nil { b.Fatal(err) }
		before := spent(b)
		b.ReportAllocs()
		one := []int16{1}
		for b.Loop() {
			rr := pc.ExecStatement(ctx, sd, [][]byte{{0,0,0,0,0,0,0,11}, {0,0,0,0,0,0,0,0}}, one, one)
			n := 0
			for rr.NextRow() { n++ }
			if _, err := rr.Close(); err != nil || n != 11 { b.Fatal(n) }
		}
		b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op")
	})
	b.Run("echo", func(b *testing.B) {
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		go func() {
			c, _ := l.Accept()
			buf := make([]byte, 1024)
			for { n, err := c.Read(buf); if err != nil { return }; c.Write(buf[:n]) }
		}()
		c, _ := net.Dial("tcp", l.Addr().String())
		buf := make([]byte, 400)
		before := spent(b)
		for b.Loop() { c.Write(buf); c.Read(buf) }
		b.ReportMetric(float64(spent(b)-before)/float64(b.N), "cpu-ns/op(both)")
	})
}
