package database_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

// The setup step of the seed's app file runs as it stands, and what it
// opened is there for the session.
func TestSetupStep(t *testing.T) {
	h := open(t)
	h.settings(map[string]any{"timeout_seconds": 10}, nil)
	h.setup(args{"connection_id": "main", "driver": "sqlite", "database": h.grant.Workspace + "/data.db"})
	if _, err := os.Stat(filepath.Join(h.grant.Workspace, "data.db")); err != nil {
		t.Error(err)
	}
	h.run("CREATE TABLE t (a)")
	if got := h.ok("list_tables", nil).Content[0].Text; got != "table t" {
		t.Errorf("%q", got)
	}
}

func TestSessionsAreApart(t *testing.T) {
	h := open(t)
	h.ok("connect", args{"driver": "sqlite", "database": ":memory:"})
	h.ok("connect", args{"driver": "sqlite", "database": "b.db", "connection_id": "other"})
	h.ok("execute_query", args{"query": "CREATE TABLE o (a)", "connection_id": "other"})
	h.fails("list_tables", args{"connection_id": "mian"}, tool.NotFound, "open are: main, other")
	if got := h.ok("list_tables", args{"connection_id": "other"}); !strings.HasPrefix(got.Summary, "other: 1 table") {
		t.Error(got.Summary)
	}
	h.session = "s2"
	h.fails("list_tables", nil, tool.NotFound, "none is open")
	h.fails("disconnect", args{"connection_id": "other"}, tool.NotFound, "none is open")
	if r := h.ok("list_connections", nil); !strings.Contains(string(r.Data), `"connections":[]`) {
		t.Errorf("%s", r.Data)
	}
	h.session = "s1"
	h.ok("disconnect", args{"connection_id": "other"})
	h.fails("list_tables", args{"connection_id": "other"}, tool.NotFound, "open are: main")
	h.opened.OnSessionEnd("s1")
	h.fails("list_tables", nil, tool.NotFound, "none is open")
}

// A session that ends stops what it runs, in the database, and leaves nothing.
func TestEndedStopsWhatRuns(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		var wait sync.WaitGroup
		var err error
		begun := make(chan struct{})
		wait.Go(func() {
			close(begun)
			_, err = h.call(context.Background(), "fetch_results", args{"query": k.slow})
		})
		<-begun
		running(t, k, 1)
		h.opened.OnSessionEnd("s1")
		wait.Wait()
		if kind := tool.KindOf(err); kind != tool.Cancelled && kind != tool.NotFound {
			t.Errorf("%v", err)
		}
		running(t, k, 0)
	})
}

func TestNothingIsLeft(t *testing.T) {
	for _, k := range kinds { // the servers' own clients are counted before
		if k.name == "postgres" && postgresServer().err == nil {
			_ = postgresServer().admin.Ping()
		}
		if k.name == "mariadb" && mariadbServer().err == nil {
			_ = mariadbServer().admin.Ping()
		}
	}
	before := runtime.NumGoroutine()
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE t (a INTEGER)")
		h.fails("fetch_results", args{"query": k.slow, "timeout_seconds": 1}, tool.Timeout, "")
		if err := h.opened.Close(); err != nil {
			t.Error(err)
		}
		if _, err := h.call(t.Context(), "connect", args{"driver": "sqlite", "database": ":memory:"}); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("after closing: %v", err)
		}
	})
	// Goroutines that were told to end do so in their own time.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if runtime.NumGoroutine() <= before+2 {
			return
		}
		<-tick.C
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
}

// Many calls at once wait in line for the connection.
func TestManyCalls(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE t (a INTEGER)")
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				for range 10 {
					if _, err := h.call(t.Context(), "execute_query", args{"query": "INSERT INTO t VALUES (?)", "params": []any{i}}); err != nil {
						t.Error(err)
					}
					if _, err := h.call(t.Context(), "fetch_results", args{"query": "SELECT count(*) FROM t"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if got := h.one("SELECT count(*) FROM t"); got != num("80") {
			t.Errorf("%v rows", got)
		}
	})
}

// Every tool reads well to a machine: its examples fit its schema, and it has
// words to be found by.
func TestSpecs(t *testing.T) {
	h := open(t)
	if len(h.tools) != 12 {
		t.Errorf("%d tools", len(h.tools))
	}
	for name, made := range h.tools {
		if len(made.Spec.Examples) == 0 || len(made.Spec.Aliases) < 5 || len(made.Spec.Tags) < 5 {
			t.Errorf("%s lacks examples, aliases or tags", name)
		}
		for _, e := range made.Spec.Examples {
			h.conforms(made.Spec.Input, e.Args)
		}
		var in struct {
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(made.Spec.Input, &in); err != nil {
			t.Error(err)
		}
		_, named := in.Properties["connection_id"]
		if locks := len(made.Runtime.Effects); named != (locks == 2) {
			t.Errorf("%s has %d effects", name, locks)
		}
		writes := name == "execute_query" || name == "transaction" || name == "bulk_insert" || name == "connect" || name == "disconnect"
		if made.Runtime.SideEffect.Durable() != writes {
			t.Errorf("%s has the side effect %s", name, made.Runtime.SideEffect)
		}
	}
}
