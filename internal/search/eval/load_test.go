package eval_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search/eval"
	"callgate/tool"
)

// files are the files of a folder by name; a name may hold folders.
type files map[string]string

// write makes the folder and returns it.
func (f files) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	twoTools   = `{"id":"a","name":"a"}` + "\n" + `{"id":"b","name":"b"}` + "\n"
	oneRequest = `{"id":"q","text":"do it"}` + "\n"
)

func TestLoad(t *testing.T) {
	dir := files{
		"one/tools.jsonl": "\ufeff" + `{"id":"a","name":"n","description":"d","parameters":{"type":"object"},"category":"c","server":"s","copies":3}` + "\r\n\n" +
			`  {"id":"b","name":"m","description":null,"parameters":null}`,
		"one/queries.jsonl": `{"id":"q","text":"do it","lang":"en","kind":"x"}` + "\n" + `{"id":"r","text":"and that"}`,
		"one/qrels.jsonl":   `{"query":"q","tool":"a"}` + "\n" + `{"query":"q","tool":"b","rel":2.5}` + "\n",
	}.write(t)
	got, err := eval.Load(filepath.Join(dir, "one"))
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Set{
		Name: "one",
		Tools: []eval.Tool{
			{ID: "a", Name: "n", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Category: "c", Server: "s"},
			{ID: "b", Name: "m"},
		},
		Queries: []eval.Query{{ID: "q", Text: "do it", Lang: "en"}, {ID: "r", Text: "and that"}},
		Gold:    map[string]map[string]float64{"q": {"a": 1, "b": 2.5}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestLoadToolsOnly(t *testing.T) {
	got, err := eval.Load(files{"tools.jsonl": twoTools}.write(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != 2 || len(got.Queries) != 0 || len(got.Gold) != 0 {
		t.Errorf("got %d tools, %d queries, %d gold, want 2, 0, 0", len(got.Tools), len(got.Queries), len(got.Gold))
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		in   files
		kind tool.Kind
		want string // in the error's words
	}{
		{"no files", files{"meta.json": "{}"}, tool.NotFound, "there is no tools.jsonl"},
		{"an array", files{"tools.jsonl": "[]\n"}, tool.Invalid, "tools.jsonl:1: the line is not a JSON object"},
		{"half a line", files{"tools.jsonl": twoTools + `{"id":"c",`}, tool.Invalid, "tools.jsonl:3: the line is not JSON"},
		{"two on a line", files{"tools.jsonl": `{"id":"a","name":"a"}{"id":"b","name":"b"}`}, tool.Invalid,
			"tools.jsonl:1: the line is not JSON"},
		{"blank lines count", files{"tools.jsonl": "\n\n7"}, tool.Invalid, "tools.jsonl:3:"},
		{"wrong type", files{"tools.jsonl": `{"id":7,"name":"a"}`}, tool.Invalid,
			`tools.jsonl:1: "id" is a number, and must be a string`},
		{"no id", files{"tools.jsonl": `{"name":"a"}`}, tool.Invalid, "tools.jsonl:1: a tool without an id"},
		{"no name", files{"tools.jsonl": `{"id":"a"}`}, tool.Invalid, "tools.jsonl:1: the tool \"a\" has no name"},
		{"the same id", files{"tools.jsonl": twoTools + `{"id":"a","name":"c"}`}, tool.Invalid,
			`tools.jsonl:3: the tool "a" stands on line 1 already`},
		{"parameters a list", files{"tools.jsonl": `{"id":"a","name":"a","parameters":["x"]}`}, tool.Invalid,
			"tools.jsonl:1: the parameters"},
		{"no text", files{"tools.jsonl": twoTools, "queries.jsonl": `{"id":"q"}`}, tool.Invalid,
			"queries.jsonl:1: the query \"q\" has no text"},
		{"no query id", files{"tools.jsonl": twoTools, "queries.jsonl": `{"text":"x"}`}, tool.Invalid,
			"queries.jsonl:1: a query without an id"},
		{"the same query", files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest + oneRequest}, tool.Invalid,
			"queries.jsonl:2:"},
		{"labels without queries", files{"tools.jsonl": twoTools, "qrels.jsonl": `{"query":"q","tool":"a"}`}, tool.Invalid,
			`qrels.jsonl:1: the query "q" is not in queries.jsonl`},
		{"unknown tool",
			files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest, "qrels.jsonl": `{"query":"q","tool":"c"}`},
			tool.Invalid, `qrels.jsonl:1: the tool "c" is not among the set's 2 tools`},
		{"relevance below zero",
			files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest, "qrels.jsonl": `{"query":"q","tool":"a","rel":-1}`},
			tool.Invalid, "qrels.jsonl:1: the relevance -1 is not between 0 and 1000"},
		{"relevance too high",
			files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest, "qrels.jsonl": `{"query":"q","tool":"a","rel":1001}`},
			tool.Invalid, "qrels.jsonl:1: the relevance 1001"},
		{"relevance beyond numbers",
			files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest, "qrels.jsonl": `{"query":"q","tool":"a","rel":1e999}`},
			tool.Invalid, "qrels.jsonl:1:"},
		{"labelled twice",
			files{"tools.jsonl": twoTools, "queries.jsonl": oneRequest,
				"qrels.jsonl": `{"query":"q","tool":"a"}` + "\n" + `{"query":"q","tool":"a","rel":2}`}, tool.Invalid,
			"qrels.jsonl:2: the query \"q\" has a label"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := eval.Load(c.in.write(t))
			if err == nil {
				t.Fatal("it loaded")
			}
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) || e.Hint == "" {
				t.Errorf("got %s %q with hint %q\nwant %s with %q and a hint", tool.KindOf(err), err, e.Hint, c.kind, c.want)
			}
		})
	}
}

func TestLoadOfNoFolder(t *testing.T) {
	_, err := eval.Load(filepath.Join(t.TempDir(), "nowhere"))
	if tool.KindOf(err) != tool.NotFound {
		t.Errorf("got %v, want NotFound", err)
	}
}

const catalogue = `{"id":"s/a","name":"a","server":"s","category":"t"}
{"id":"t/b","name":"b","server":"t"}
{"id":"u/c","name":"c","category":"u"}
`

// FuzzLoad: whatever the files hold, Load gives a set that keeps its law or an
// Invalid error that says where and what to do.
func FuzzLoad(f *testing.F) {
	f.Add(twoTools, oneRequest, `{"query":"q","tool":"a","rel":2}`)
	f.Add("\ufeff\n"+catalogue, `{"id":"q","text":"x","lang":null}`, "{}")
	f.Add(`{"id":"a","name":"a","parameters":{"a":[1]}}`, "null", `{"query":"q","tool":"a","rel":1e308}`)
	f.Add(`{"ID":"a","name":"\ud800","parameters": null }`, "{\"id\":\"q\",\"text\":\"\xff\"}", "\r\n")
	f.Fuzz(func(t *testing.T, tools, queries, qrels string) {
		dir := files{"tools.jsonl": tools, "queries.jsonl": queries, "qrels.jsonl": qrels}.write(t)
		set, err := eval.Load(dir)
		if err != nil {
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Hint == "" || !strings.Contains(e.Message, ".jsonl:") {
				t.Fatalf("error %#v, want Invalid with file:line and a hint", err)
			}
			return
		}
		checkLaw(t, set)
		r := eval.Run(set, func(string, int) []string {
			var ids []string
			for _, tl := range set.Tools {
				ids = append(ids, tl.ID)
			}
			return ids
		})
		if r.N+r.Unscored != len(set.Queries) || !(r.NDCG10 >= 0 && r.NDCG10 <= 1+1e-9) {
			t.Fatalf("%d scored and %d not of %d queries, nDCG@10 %g", r.N, r.Unscored, len(set.Queries), r.NDCG10)
		}
	})
}

// checkLaw holds a set to what Set's comment promises.
func checkLaw(t *testing.T, set *eval.Set) {
	t.Helper()
	tools, queries := map[string]bool{}, map[string]bool{}
	for _, tl := range set.Tools {
		if tl.ID == "" || tl.Name == "" || tools[tl.ID] || tl.Parameters != nil && (tl.Parameters[0] != '{' || !json.Valid(tl.Parameters)) {
			t.Fatalf("tool %+v breaks the law", tl)
		}
		tools[tl.ID] = true
	}
	for _, q := range set.Queries {
		if q.ID == "" || q.Text == "" || queries[q.ID] {
			t.Fatalf("query %+v breaks the law", q)
		}
		queries[q.ID] = true
	}
	for q, gold := range set.Gold {
		for id, rel := range gold {
			if !queries[q] || !tools[id] || rel < 0 || rel > 1000 {
				t.Fatalf("label %q %q %g breaks the law", q, id, rel)
			}
		}
	}
}
