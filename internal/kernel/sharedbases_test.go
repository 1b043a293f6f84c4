package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// basesApp is an app that has knowledge bases, with an ID or without.
func basesApp(id string) string {
	text := "tools:\n  modules:\n    rag: {constraints: {max_chunks: 40}}\n  capabilities: {default_policy: auto}\n"
	if id != "" {
		text = "app: {app_id: " + id + "}\n" + text
	}
	return text
}

// basesAt is an app at a node, in a folder that has documents.
func basesAt(t *testing.T, k *kernel.Kernel, folder, id string, documents map[string]string) *session.Session {
	t.Helper()
	at := appFolder(t, folder, basesApp(id))
	for name, text := range documents {
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(at, name)), 0o700))
		write(t, filepath.Join(at, name), text)
	}
	return kerneltest.OpenAccepted(t, k, at)
}

// ragCall calls a tool that must succeed, and returns its data.
func ragCall(t *testing.T, s *session.Session, name, args string) string {
	t.Helper()
	r := kerneltest.Call(t, s, "rag."+name, args)
	if r.Err() != nil {
		t.Fatalf("rag.%s %s: %s %s", name, args, r.Status, r.Summary)
	}
	return string(r.Data)
}

// passages are the documents that a question finds, with what they say.
func passages(t *testing.T, s *session.Session, base, question string) (all map[string]string) {
	t.Helper()
	args := fmt.Sprintf(`{"query":%q,"bases":[%q],"limit":50}`, question, base)
	if base == "" {
		args = fmt.Sprintf(`{"query":%q,"limit":50}`, question)
	}
	var data struct {
		Passages []struct{ Document, Text string }
	}
	ok(t, json.Unmarshal([]byte(ragCall(t, s, "query", args)), &data))
	all = map[string]string{}
	for _, p := range data.Passages {
		all[p.Document] += p.Text
	}
	return all
}

func refusesBase(t *testing.T, s *session.Session, name, args string, kind tool.Kind, says string) {
	t.Helper()
	r := kerneltest.Call(t, s, "rag."+name, args)
	if tool.KindOf(r.Err()) != kind || !strings.Contains(r.Err().Error(), says) {
		t.Errorf("rag.%s %s: %s %v, want %s with %q", name, args, r.Status, r.Err(), kind, says)
	}
}

const teamBase = "shared/team"

// What an app that is one at all nodes ingests into a base under shared/ is found, replaced and deleted at any node.
func TestKnowledgeBasesOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	docs := map[string]string{
		"docs/quay.md": "# Quay\n\nBoats moor at the north quay for three days.\n", "docs/fuel.md": "# Fuel\n\nDiesel is at the east pier.\n",
	}
	atA := basesAt(t, a, "one", "harbour", docs)
	atB := basesAt(t, b, "two", "harbour", map[string]string{"docs/quay.md": "# Quay\n\nBoats moor at the south quay for nine days.\n"})
	ragCall(t, atA, "create", `{"base":"shared/team","description":"of the harbour"}`)
	ragCall(t, atA, "ingest_folder", `{"path":"docs","base":"shared/team"}`)
	ragCall(t, atA, "ingest_text", `{"name":"note","text":"The own note about boats.","base":"own"}`)
	if got := passages(t, atA, teamBase, "where do boats moor"); len(got) != 2 { // its index is in memory from now on
		t.Errorf("at a there is %v", got)
	}
	for name, base := range map[string]string{"the base": teamBase, "all bases": ""} {
		if got := passages(t, atB, base, "where do boats moor"); !strings.Contains(got["docs/quay.md"], "north quay") {
			t.Errorf("%s at b: %v", name, got)
		}
	}
	if list := ragCall(t, atB, "list", `{}`); !strings.Contains(list, teamBase) || strings.Contains(list, `"own"`) {
		t.Errorf("at b there are %s", list)
	}
	// The same path at b is the same document, and what is not there is gone.
	report := ragCall(t, atB, "ingest_folder", `{"path":"docs","base":"shared/team"}`)
	if !strings.Contains(report, `"updated":1`) || !strings.Contains(report, `"removed":1`) {
		t.Errorf("b ingested %s", report)
	}
	got := passages(t, atA, teamBase, "where do boats moor, and where is diesel")
	if len(got) != 1 || strings.Contains(got["docs/quay.md"], "north") || !strings.Contains(got["docs/quay.md"], "south quay") {
		t.Errorf("at a there is now %v", got)
	}
	if again := ragCall(t, atB, "ingest_folder", `{"path":"docs","base":"shared/team"}`); !strings.Contains(again, `"unchanged":1`) {
		t.Errorf("once more: %s", again)
	}
	if own := passages(t, atA, "own", "boats"); !strings.Contains(own["note"], "own note") {
		t.Errorf("the base of the folder has %v", own)
	}
	ragCall(t, atB, "migrate_embeddings", `{"base":"shared/team"}`)
	if got := passages(t, atA, teamBase, "where do boats moor"); len(got) != 1 || !strings.Contains(got["docs/quay.md"], "south quay") {
		t.Errorf("with vectors that were computed anew: %v", got)
	}
	if stats := ragCall(t, atA, "stats", `{"base":"shared/team"}`); !strings.Contains(stats, `"documents":1,"chunks":1`) {
		t.Errorf("in it are %s", stats)
	}
	ragCall(t, atA, "delete", `{"base":"shared/team"}`)
	refusesBase(t, atB, "query", `{"query":"boats","bases":["shared/team"]}`, tool.NotFound, "there is no knowledge base")
	ragCall(t, atB, "create", `{"base":"shared/team"}`)
	if got := passages(t, atA, teamBase, "where do boats moor"); len(got) != 0 {
		t.Errorf("a new base of the name has %v", got)
	}
}

// Who has no app that is one at all nodes has no such base, nor has a kernel that is alone.
func TestWhoSharesKnowledgeBases(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a := openNode(t, url, node.Timing{})
	const args = `{"name":"x","text":"a text","base":"shared/team"}`
	refusesBase(t, basesAt(t, a, "one", "", nil), "ingest_text", args, tool.Conflict, "is not one at all nodes")
	ragCall(t, basesAt(t, a, "two", "first", nil), "ingest_text", args)
	other := basesAt(t, openNode(t, url, node.Timing{}), "three", "second", nil)
	refusesBase(t, other, "query", `{"query":"text","bases":["shared/team"]}`, tool.NotFound, "there is no knowledge base")

	alone := basesAt(t, kerneltest.Open(t, kerneltest.StateDir(t)), "four", "first", nil)
	refusesBase(t, alone, "ingest_text", args, tool.Unavailable, "shares its database with no other")
}

// Two nodes that ingest at once lose nothing, and do not pass the bound together.
func TestIngestAtTwoNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a, b := openNode(t, url, node.Timing{}), openNode(t, url, node.Timing{})
	at := []*session.Session{basesAt(t, a, "one", "harbour", nil), basesAt(t, b, "two", "harbour", nil)}
	const each = 15
	var wg sync.WaitGroup
	for i, s := range at {
		wg.Go(func() {
			for n := range each {
				r := kerneltest.Call(t, s, "rag.ingest_text",
					fmt.Sprintf(`{"name":"n%d-%d","text":"Berth %d of node %d is free.","base":"shared/team"}`, i, n, n, i))
				if r.Err() != nil {
					t.Error(r.Err())
				}
				if r := kerneltest.Call(t, s, "rag.query", `{"query":"berth","bases":["shared/team"]}`); r.Err() != nil {
					t.Error(r.Err())
				}
			}
		})
	}
	wg.Wait()
	for i, s := range at {
		if got := passages(t, s, teamBase, "which berth is free"); len(got) != 2*each {
			t.Errorf("node %d finds %d of %d", i, len(got), 2*each)
		}
	}
	var limited int
	for i, s := range at { // 40 chunks may be there
		wg.Go(func() {
			for n := range 10 {
				r := kerneltest.Call(t, s, "rag.ingest_text",
					fmt.Sprintf(`{"name":"more%d-%d","text":"Pier %d of node %d.","base":"shared/team"}`, i, n, n, i))
				if r.Err() != nil && tool.KindOf(r.Err()) != tool.Limited {
					t.Error(r.Err())
				}
			}
		})
	}
	wg.Wait()
	for _, s := range at {
		if tool.KindOf(kerneltest.Call(t, s, "rag.ingest_text", `{"name":"last","text":"x","base":"shared/team"}`).Err()) == tool.Limited {
			limited++
		}
	}
	if stats := ragCall(t, at[0], "stats", `{"base":"shared/team"}`); limited != 2 || !strings.Contains(stats, `"chunks":40,`) {
		t.Errorf("%d nodes are at the bound, and there is %s", limited, tool.Truncate(stats))
	}
}
