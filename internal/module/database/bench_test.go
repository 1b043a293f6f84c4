package database_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

const benchRows = 10_000

// BenchmarkFetchResults reads 10,000 rows through the tool, and through the
// driver alone, which scans them and drops them. The two alternate, and the best
// of each are compared, so that a busy machine gives the same ratio as an idle
// one.
func BenchmarkFetchResults(b *testing.B) {
	for _, k := range kinds() {
		if k.Name == "memory" {
			continue
		}
		b.Run(k.Name, func(b *testing.B) {
			f := open(b)
			f.settings(map[string]any{"max_bytes": 16 << 20}, nil)
			f.setup(k.target(b))
			fill(f, k)
			const query = "SELECT id, name, email, amount, score, made FROM bench"
			raw, err := json.Marshal(args{"query": query, "limit": benchRows})
			if err != nil {
				b.Fatal(err)
			}
			fetch := f.tools["fetch_results"].Handler
			call := tool.Call{Args: raw, Principal: tool.Principal{Session: f.session}}
			alone := driverAlone(b, f, k, query)
			best := map[string]time.Duration{}
			timed := func(name string, f func()) {
				start := time.Now()
				f()
				if took := time.Since(start); best[name] == 0 || took < best[name] {
					best[name] = took
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				timed("tool", func() {
					r, err := fetch.Execute(b.Context(), call, f.grant)
					if err != nil || r.Summary != "10000 rows" {
						b.Fatal(r, err)
					}
				})
				b.StopTimer()
				timed("driver", alone)
				b.StartTimer()
			}
			b.ReportMetric(best["tool"].Seconds()*1000, "tool-ms")
			b.ReportMetric(best["driver"].Seconds()*1000, "driver-ms")
			b.ReportMetric(best["tool"].Seconds()/best["driver"].Seconds(), "ratio")
		})
	}
}

func fill(f *fixture, k kind) {
	f.run("CREATE TABLE bench (id INTEGER PRIMARY KEY, name VARCHAR(60), email VARCHAR(60), amount " + k.Decimal +
		", score DOUBLE PRECISION, made TIMESTAMP NULL)")
	rows := make([]any, benchRows)
	for i := range rows {
		rows[i] = []any{
			i, fmt.Sprintf("customer number %d", i), fmt.Sprintf("customer%d@example.com", i),
			fmt.Sprintf("%d.5", i), float64(i) / 7, "2024-05-01 10:11:12",
		}
	}
	columns := []string{"id", "name", "email", "amount", "score", "made"}
	f.ok("bulk_insert", args{"table": "bench", "columns": columns, "rows": rows})
}

// driverAlone returns a function that reads the rows through the driver.
func driverAlone(b *testing.B, f *fixture, k kind, query string) func() {
	if k.Name == "postgres" {
		return pgxAlone(b, f, query)
	}
	name, dsn := "sqlite", filepath.Join(f.grant.Workspace, "data.db")
	if k.Name == "mariadb" {
		s := servers.MariaDB(b)
		name = "mysql"
		dsn = fmt.Sprintf("%s:%s@tcp(127.0.0.1:%d)/%v", s.User, enginetest.Password, s.Port, f.one("SELECT DATABASE()"))
	}
	db, err := sql.Open(name, dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return func() {
		rows, err := db.QueryContext(b.Context(), query)
		if err != nil {
			b.Fatal(err)
		}
		var cells [6]any
		n := 0
		for rows.Next() {
			if err := rows.Scan(&cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[5]); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if rows.Close(); n != benchRows {
			b.Fatal(n)
		}
	}
}

func pgxAlone(b *testing.B, f *fixture, query string) func() {
	s := servers.Postgres(b)
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(s.User, enginetest.Password),
		Host: fmt.Sprintf("127.0.0.1:%d", s.Port), Path: fmt.Sprint("/", f.one("SELECT current_database()")),
	}
	conn, err := pgx.Connect(b.Context(), u.String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(context.Background()) })
	return func() {
		rows, err := conn.Query(b.Context(), query)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for rows.Next() {
			if _, err := rows.Values(); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if rows.Close(); n != benchRows {
			b.Fatal(n)
		}
	}
}
