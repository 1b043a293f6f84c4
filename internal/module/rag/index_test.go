package rag_test

import (
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
	for _, one := range f.instance.Tools {
		check(t, one.Validate())
		if len(one.Spec.Examples) == 0 || len(one.Spec.Aliases) < 8 || len(one.Spec.Tags) < 5 {
			t.Errorf("%s has %d examples, %d aliases, %d tags",
				one.ID, len(one.Spec.Examples), len(one.Spec.Aliases), len(one.Spec.Tags))
		}
		for _, e := range one.Spec.Examples {
			check(t, validate(one.Spec.Input, e.Args))
		}
	}
	f.fails("query", `{"query": "a"}`, tool.NotFound, "register_source")
	f.fails("register_source", `{"source": "a", "path": "none"}`, tool.NotFound, "none")
	f.call("register_source", `{"source": "docs", "path": "docs"}`)
	f.call("register_source", `{"source": "docs", "path": "docs/"}`)
	f.fails("register_source", `{"source": "docs", "path": "src"}`, tool.Conflict, "another name")
	f.call("register_source", `{"source": "code", "path": "src", "pattern": "**/*.go"}`)
	var done struct {
		Sources []struct {
			Source                            string
			Added, Updated, Unchanged, Chunks int
		}
	}
	f.call("scan", `{}`, &done)
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
	f.fails("context", `{"document": "docs/none.md"}`, tool.NotFound, "index.scan")
	var r struct {
		Names              []string
		NamedBy            []string `json:"named_by"`
		Defined, Mentioned []string
	}
	f.call("relations", `{"document": "docs/README.md"}`, &r)
	if diff := cmp.Diff([]string{"src/tide.go", "docs/mooring.md"}, r.Names); diff != "" {
		t.Error(diff)
	}
	f.call("relations", `{"document": "docs/mooring.md"}`, &r)
	if diff := cmp.Diff([]string{"docs/README.md"}, r.NamedBy); diff != "" {
		t.Error(diff)
	}
	f.call("relations", `{"symbol": "Height"}`, &r)
	if len(r.Defined)+len(r.Mentioned) != 1 {
		t.Errorf("%+v", r)
	}
	f.fails("relations", `{"document": "docs/none.md"}`, tool.NotFound, "not in the index")
	f.fails("relations", `{}`, tool.Invalid, "one of them")

	f.call("scan", `{"source": "docs"}`, &done)
	if done.Sources[0].Unchanged != 3 {
		t.Errorf("%+v", done)
	}
	f.call("invalidate", `{"source": "docs", "document": "docs/mooring.md"}`)
	f.fails("invalidate", `{"source": "docs", "document": "none"}`, tool.NotFound, "none")
	f.fails("invalidate", `{"source": "doc"}`, tool.NotFound, "docs")
	f.call("scan", `{"source": "docs"}`, &done)
	if done.Sources[0].Updated != 1 || done.Sources[0].Unchanged != 2 {
		t.Errorf("%+v", done)
	}
	f.host.Embedder = nil // the model is gone: words alone count, without a word to anybody
	f.open()
	f.call("scan", `{}`)
	if r := f.call("query", `{"query": "diesel"}`); len(r.Warnings) > 0 {
		t.Errorf("%q", r.Warnings)
	}
}
