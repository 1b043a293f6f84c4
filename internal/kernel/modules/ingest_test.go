package modules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const shopApp = `tools:
  modules:
    database:
      setup:
        - action: connect
          params: {driver: sqlite, database: shop.db}
%s    rag:
      setup: %s
  capabilities:
    default_policy: auto
    deny: %s
`

// shop opens a session of an app that connects to a table of goods.
func shop(t *testing.T, constraints, setup, deny string) (*kernel.Kernel, *session.Session) {
	t.Helper()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	folder := t.TempDir()
	file := filepath.Join(folder, "callgate.yaml")
	write(t, file, fmt.Sprintf(shopApp, "", "[]", "[]"))
	first := kerneltest.OpenAccepted(t, k, folder)
	for _, query := range []string{
		"create table goods (id integer primary key, about text)", "insert into goods values (7, 'an anchor'), (9, 'a rope')",
	} {
		ok(t, call(t, first, "database.execute_query", fmt.Sprintf(`{"query": %q}`, query)).Err())
	}
	first.Close()
	write(t, file, fmt.Sprintf(shopApp, constraints, setup, deny))
	s := kerneltest.OpenAccepted(t, k, folder)
	t.Cleanup(s.Close)
	return k, s
}

func call(t *testing.T, s *session.Session, name, args string) *tool.Result {
	t.Helper()
	return s.Call(t.Context(), session.CallRequest{Name: name, Args: json.RawMessage(args)})
}

const blocked = "      constraints: {blocked_actions: [extract_for_index]}\n"

// A module that uses another's tools has no more rights than its caller: the rows of a database are
// read by calls of the session.
func TestRowsAreReadUnderTheCallersRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		constraints, deny string
		args, refused     string
	}{
		"allowed":          {"", "[]", `{"table": "goods"}`, ""},
		"a denied table":   {"", "[{module: database, actions: [extract_for_index]}]", `{"table": "goods"}`, "extract_for_index"},
		"a blocked table":  {blocked, "[]", `{"table": "goods"}`, "extract_for_index"},
		"a denied query":   {"", "[{module: database, actions: [fetch_results]}]", `{"query": "select 1"}`, "fetch_results"},
		"a denied file":    {"", "[{module: database}]", `{"path": "shop.db", "table": "goods"}`, "extract_for_index"},
		"a blocked file":   {blocked, "[]", `{"path": "shop.db", "table": "goods"}`, "extract_for_index"},
		"another's denied": {"", "[{module: database, actions: [fetch_results]}]", `{"table": "goods"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := shop(t, c.constraints, "[]", c.deny)
			r := call(t, s, "rag.ingest_database", c.args)
			if c.refused != "" {
				if r.Status == tool.Success || !strings.Contains(r.Err().Error(), c.refused) {
					t.Errorf("%s %s", r.Status, r.Summary)
				}
				return
			}
			ok(t, r.Err())
			r = call(t, s, "rag.query", `{"query": "anchor"}`)
			if !strings.Contains(string(r.Data), `"main, table goods, key 7"`) {
				t.Errorf("%s", r.Data)
			}
			records, err := k.Journal.Read(t.Context(), journal.Query{})
			ok(t, err)
			if !slices.ContainsFunc(records, func(r journal.Record) bool {
				return r.Name == "database.extract_for_index" && r.Parent != ""
			}) {
				t.Error("nothing is on record of what was read")
			}
		})
	}
}

// A setup step ingests a table with the rights of the kernel itself, before anybody finds the session.
func TestRowsAreReadByASetupStep(t *testing.T) {
	t.Parallel()
	_, s := shop(t, blocked, "[{action: ingest_database, params: {table: goods}}]", "[]")
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("%q", w)
	}
	if r := call(t, s, "rag.query", `{"query": "rope"}`); !strings.Contains(string(r.Data), `"main, table goods, key 9"`) {
		t.Errorf("%s %v", r.Data, r.Err())
	}
}

// Who does not wait for a human is answered at once where a call that the tool makes must ask one, and
// who comes by itself has nobody asked.
func TestRowsThatAHumanMustAllow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request session.CallRequest
		said    string
		pending int
	}{
		"no waiting": {session.CallRequest{NoWait: true}, "database.extract_for_index waits for a human's yes", 1},
		"unattended": {session.CallRequest{Unattended: true}, "database.extract_for_index needs a human's approval", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := shop(t, "", "[]", "[]\n    approve: [{module: database, actions: [extract_for_index]}]")
			c.request.Name, c.request.Args = "rag.ingest_database", json.RawMessage(`{"table": "goods"}`)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a call that waits ends with its caller
			defer cancel()
			r := s.Call(ctx, c.request)
			if r.Status == tool.Success || !strings.Contains(r.Summary, c.said) || ctx.Err() != nil {
				t.Errorf("%s %s", r.Status, r.Summary)
			}
			asked, err := k.Approvals.List(t.Context(), approval.Pending, 10)
			ok(t, err)
			if len(asked) != c.pending {
				t.Errorf("%d requests: %+v", len(asked), asked)
			}
			ok(t, call(t, s, "rag.ingest_text", `{"name": "a", "text": "the base is free"}`).Err())
		})
	}
}
