package database_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

// The setup step of an app file opens a connection for the session.
func TestSetupStep(t *testing.T) {
	f := open(t)
	f.settings(map[string]any{"timeout_seconds": 10}, nil)
	f.setup(args{"connection_id": "main", "driver": "sqlite", "database": f.grant.Workspace + "/data.db"})
	if _, err := os.Stat(filepath.Join(f.grant.Workspace, "data.db")); err != nil {
		t.Error(err)
	}
	f.run("CREATE TABLE t (a)")
	if got := f.ok("list_tables", nil).Content[0].Text; got != "table t" {
		t.Errorf("%q", got)
	}
}

func TestSessionsAreApart(t *testing.T) {
	f := open(t)
	f.ok("connect", args{"driver": "sqlite", "database": ":memory:"})
	f.ok("connect", args{"driver": "sqlite", "database": "b.db", "connection_id": "other"})
	f.ok("execute_query", args{"query": "CREATE TABLE o (a)", "connection_id": "other"})
	f.fails("list_tables", args{"connection_id": "mian"}, tool.NotFound, "open are: main, other")
	if got := f.ok("list_tables", args{"connection_id": "other"}); !strings.HasPrefix(got.Summary, "other: 1 table") {
		t.Error(got.Summary)
	}
	f.session = "s2"
	f.fails("list_tables", nil, tool.NotFound, "none is open")
	f.fails("disconnect", args{"connection_id": "other"}, tool.NotFound, "none is open")
	if r := f.ok("list_connections", nil); !strings.Contains(string(r.Data), `"connections":[]`) {
		t.Errorf("%s", r.Data)
	}
	f.session = "s1"
	f.ok("disconnect", args{"connection_id": "other"})
	f.fails("list_tables", args{"connection_id": "other"}, tool.NotFound, "open are: main")
	f.instance.OnSessionEnd("s1")
	f.fails("list_tables", nil, tool.NotFound, "none is open")
}

// The end of a session stops its statements in the database and leaves nothing behind.
func TestEndedStopsWhatRuns(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		var wait sync.WaitGroup
		var err error
		begun := make(chan struct{})
		wait.Go(func() {
			close(begun)
			_, err = f.call(context.Background(), "fetch_results", args{"query": k.Slow})
		})
		<-begun
		running(t, k, 1)
		f.instance.OnSessionEnd("s1")
		wait.Wait()
		if kind := tool.KindOf(err); kind != tool.Cancelled && kind != tool.NotFound {
			t.Errorf("%v", err)
		}
		running(t, k, 0)
	})
}

func TestNothingIsLeft(t *testing.T) {
	each(t, func(*testing.T, *fixture, kind) {}) // starts the servers and their administrators' connections
	before := runtime.NumGoroutine()
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE t (a INTEGER)")
		f.fails("fetch_results", args{"query": k.Slow, "timeout_seconds": 1}, tool.Timeout, "")
		if err := f.instance.Close(); err != nil {
			t.Error(err)
		}
		_, err := f.call(t.Context(), "connect", args{"driver": "sqlite", "database": ":memory:"})
		if tool.KindOf(err) != tool.Unavailable {
			t.Errorf("after closing: %v", err)
		}
	})
	// Goroutines take a moment to end.
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

// Parallel calls wait for the connection.
func TestManyCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE t (a INTEGER)")
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				for range 10 {
					insert := args{"query": "INSERT INTO t VALUES (?)", "params": []any{i}}
					if _, err := f.call(t.Context(), "execute_query", insert); err != nil {
						t.Error(err)
					}
					if _, err := f.call(t.Context(), "fetch_results", args{"query": "SELECT count(*) FROM t"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if got := f.one("SELECT count(*) FROM t"); got != num("80") {
			t.Errorf("%v rows", got)
		}
	})
}

// Every tool has examples that fit its schema, and aliases and tags for the search.
func TestSpecs(t *testing.T) {
	f := open(t)
	if len(f.tools) != 14 {
		t.Errorf("%d tools", len(f.tools))
	}
	for name, made := range f.tools {
		if len(made.Spec.Examples) == 0 || len(made.Spec.Aliases) < 5 || len(made.Spec.Tags) < 5 {
			t.Errorf("%s lacks examples, aliases or tags", name)
		}
		for _, e := range made.Spec.Examples {
			f.conforms(made.Spec.Input, e.Args)
		}
		var in struct {
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(made.Spec.Input, &in); err != nil {
			t.Error(err)
		}
		_, named := in.Properties["connection_id"]
		locks := 0
		for _, e := range made.Runtime.Effects {
			if strings.HasPrefix(e.Resource, "db:") {
				locks++
			}
		}
		if named != (locks == 2) {
			t.Errorf("%s has %d locks", name, locks)
		}
		writes := slices.Contains([]string{"execute_query", "transaction", "bulk_insert", "connect", "disconnect"}, name)
		if made.Runtime.SideEffect.Durable() != writes {
			t.Errorf("%s has the side effect %s", name, made.Runtime.SideEffect)
		}
	}
}
