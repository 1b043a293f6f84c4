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

	"callgate/tool"
)

const benchRows = 10_000

// BenchmarkFetchResults reads 10,000 rows through the tool, and through the
// driver alone: scanned, and then thrown away. The two take turns, and the
// best of each are compared, so that a busy machine says the same as an idle
// one.
func BenchmarkFetchResults(b *testing.B) {
	for _, k := range kinds {
		if k.name == "memory" {
			continue
		}
		b.Run(k.name, func(b *testing.B) {
			h := open(b)
			h.settings(map[string]any{"max_bytes": 16 << 20}, nil)
			k.connect(b, h)
			fill(h, k)
			const query = "SELECT id, name, email, amount, score, made FROM bench"
			raw, err := json.Marshal(args{"query": query, "limit": benchRows})
			if err != nil {
				b.Fatal(err)
			}
			fetch := h.tools["fetch_results"].Handler
			call := tool.Call{Args: raw, Principal: tool.Principal{Session: h.session}}
			alone := driverAlone(b, h, k, query)
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
					r, err := fetch.Execute(b.Context(), call, h.grant)
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

func fill(h *house, k kind) {
	h.run("CREATE TABLE bench (id INTEGER PRIMARY KEY, name VARCHAR(60), email VARCHAR(60), amount " + k.decimal + ", score DOUBLE PRECISION, made TIMESTAMP NULL)")
	rows := make([]any, benchRows)
	for i := range rows {
		rows[i] = []any{i, fmt.Sprintf("customer number %d", i), fmt.Sprintf("customer%d@example.com", i), fmt.Sprintf("%d.5", i), float64(i) / 7, "2024-05-01 10:11:12"}
	}
	h.ok("bulk_insert", args{"table": "bench", "columns": []string{"id", "name", "email", "amount", "score", "made"}, "rows": rows})
}

// driverAlone returns what reads the rows by the driver.
func driverAlone(b *testing.B, h *house, k kind, query string) func() {
	if k.name == "postgres" {
		return pgxAlone(b, h, query)
	}
	name, dsn := "sqlite", filepath.Join(h.grant.Workspace, "data.db")
	if k.name == "mariadb" {
		name, dsn = "mysql", fmt.Sprintf("app:%s@tcp(127.0.0.1:%d)/%v", secretWord, mariadbServer().port, h.one("SELECT DATABASE()"))
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

func pgxAlone(b *testing.B, h *house, query string) func() {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", secretWord), Host: fmt.Sprintf("127.0.0.1:%d", postgresServer().port), Path: fmt.Sprint("/", h.one("SELECT current_database()"))}
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
