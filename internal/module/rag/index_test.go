package rag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/rag/index"
	"callgate/tool"
)

func TestIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t, index.Module(), map[string]string{
		"docs/README.md": "# Harbour\n\nSee [mooring](mooring.md) and the code in `tide.go`.\n",
		"docs/mooring.md": "# Mooring\n\nBoats moor for three days.\n\n## Fees\n\nTwelve crowns.\n\n## Fuel\n\n" +
			strings.Repeat("Diesel is sold at the pump. ", 60) + "\n",
		"docs/other/README.md": "# Other\n\nNothing of tide.golang here.\n",
		"src/tide.go":          "package tide\n\n// Height returns how high the water stands.\nfunc Height() int { return low() }\n",
	})
	for _, one := range f.Instance.Tools {
		check(t, one.Validate())
		if len(one.Spec.Examples) == 0 || len(one.Spec.Aliases) < 8 || len(one.Spec.Tags) < 5 {
			t.Errorf("%s has %d examples, %d aliases, %d tags",
				one.ID, len(one.Spec.Examples), len(one.Spec.Aliases), len(one.Spec.Tags))
		}
		for _, e := range one.Spec.Examples {
			check(t, validate(one.Spec.Input, e.Args))
		}
	}
	f.Fails("query", `{"query": "a"}`, tool.NotFound, "register_source")
	f.Fails("register_source", `{"source": "a", "path": "none"}`, tool.NotFound, "none")
	f.Call("register_source", `{"source": "docs", "path": "docs"}`)
	f.Call("register_source", `{"source": "docs", "path": "docs/"}`)
	f.Fails("register_source", `{"source": "docs", "path": "src"}`, tool.Conflict, "another name")
	f.Call("register_source", `{"source": "code", "path": "src", "pattern": "**/*.go"}`)
	var done struct {
		Sources []struct {
			Source                            string
			Added, Updated, Unchanged, Chunks int
		}
	}
	f.Call("scan", `{}`, &done)
	if len(done.Sources) != 2 || done.Sources[0].Added != 1 || done.Sources[1].Added != 3 {
		t.Errorf("%+v", done)
	}
	if got := f.citations("query", `{"query": "how high is the water"}`); len(got) == 0 || !strings.HasPrefix(got[0], "src/tide.go") {
		t.Errorf("%q", got)
	}
	got := f.citations("context", `{"document": "docs/mooring.md", "at": 7}`)
	want := []string{"docs/mooring.md, lines 1-3", "docs/mooring.md, lines 5-7"}
	if len(got) != 3 || !slices.Equal(got[:2], want) {
		t.Errorf("%q", got)
	}
	f.Fails("context", `{"document": "docs/none.md"}`, tool.NotFound, "index.scan")
	var r struct {
		Names              []string
		NamedBy            []string `json:"named_by"`
		Defined, Mentioned []string
	}
	f.Call("relations", `{"document": "docs/README.md"}`, &r)
	if diff := cmp.Diff([]string{"src/tide.go", "docs/mooring.md"}, r.Names); diff != "" {
		t.Error(diff)
	}
	f.Call("relations", `{"document": "docs/mooring.md"}`, &r)
	if diff := cmp.Diff([]string{"docs/README.md"}, r.NamedBy); diff != "" {
		t.Error(diff)
	}
	f.Call("relations", `{"symbol": "Height"}`, &r)
	if len(r.Defined)+len(r.Mentioned) != 1 {
		t.Errorf("%+v", r)
	}
	f.Fails("relations", `{"document": "docs/none.md"}`, tool.NotFound, "not in the index")
	f.Fails("relations", `{}`, tool.Invalid, "one of them")

	f.Call("scan", `{"source": "docs"}`, &done)
	if done.Sources[0].Unchanged != 3 {
		t.Errorf("%+v", done)
	}
	f.Call("invalidate", `{"source": "docs", "document": "docs/mooring.md"}`)
	f.Fails("invalidate", `{"source": "docs", "document": "none"}`, tool.NotFound, "none")
	f.Fails("invalidate", `{"source": "doc"}`, tool.NotFound, "docs")
	f.Call("scan", `{"source": "docs"}`, &done)
	if done.Sources[0].Updated != 1 || done.Sources[0].Unchanged != 2 {
		t.Errorf("%+v", done)
	}
	f.Host.Embedder = nil // the model is gone: words alone count, without a word to anybody
	f.open()
	f.Call("scan", `{}`)
	if r := f.Call("query", `{"query": "diesel"}`); len(r.Warnings) > 0 {
		t.Errorf("%q", r.Warnings)
	}
}

// An extractor divides files of a language that is not known, and has them be documents.
func TestExtractor(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("  size = 3\n", 30)
	f := newFixture(t, index.Module(), map[string]string{
		"infra/main.tf": "terraform {}\n\n# The quay has lamps.\nresource \"lamp\" \"quay-light\" {\n" + long + "}\n\n" +
			"if broken\nresource \"pump\" \"bilge\" {\n" + long + "}\n",
		"infra/notes.md":  "# Notes\n\nresource \"lamp\" \"old\" is gone.\n",
		"infra/other.xyz": "nobody reads this",
	})
	f.Configure(map[string]any{"chunk_bytes": 300}, nil)
	f.Call("register_source", `{"source": "infra", "path": "infra"}`)
	var done struct {
		Sources []struct{ Added, Updated, Unchanged int }
	}
	if f.Call("scan", `{}`, &done); done.Sources[0].Added != 1 {
		t.Errorf("%+v", done)
	}
	const rule = `{"source": "infra", "pattern": "**/*.tf", "definition": "^resource .*\"([\\w-]+)\"", "comments": ["#"]}`
	f.Call("register_extractor", rule)
	if f.Call("scan", `{}`, &done); done.Sources[0].Added != 1 || done.Sources[0].Unchanged != 1 {
		t.Errorf("%+v", done)
	}
	var r struct{ Defined []string }
	f.Call("relations", `{"symbol": "quay-light"}`, &r)
	if len(r.Defined) == 0 || !strings.HasPrefix(r.Defined[0], "infra/main.tf, lines 3-") {
		t.Errorf("%q", r.Defined)
	}
	if f.Call("register_extractor", rule); f.Call("scan", `{}`, &done) != nil && done.Sources[0].Unchanged != 2 {
		t.Errorf("the same rule again: %+v", done)
	}
	f.Call("register_extractor", `{"source": "infra", "pattern": "**/*.tf", "definition": "^if"}`)
	if f.Call("scan", `{}`, &done); done.Sources[0].Updated != 1 {
		t.Errorf("another rule: %+v", done)
	}
	f.Call("register_source", `{"source": "infra", "path": "infra"}`) // still the same folder
	f.Fails("register_extractor", `{"source": "infra", "pattern": "*", "definition": "("}`, tool.Invalid, "RE2")
	f.Fails("register_extractor", `{"source": "infra", "pattern": "*", "definition": "x*"}`, tool.Invalid, "every line")
	f.Fails("register_extractor", `{"source": "infra", "pattern": "{", "definition": "x"}`, tool.Invalid, "pattern")
	f.Fails("register_extractor", `{"source": "none", "pattern": "*", "definition": "x"}`, tool.NotFound, "infra")
	for i := range 15 {
		f.Call("register_extractor", fmt.Sprintf(`{"source": "infra", "pattern": "%d/*", "definition": "x"}`, i))
	}
	f.Fails("register_extractor", `{"source": "infra", "pattern": "more/*", "definition": "x"}`, tool.Limited, "16")
}
