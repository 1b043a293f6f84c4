package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module"
	"callgate/internal/module/memory"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/moduletest"
	"callgate/tool"
)

func TestQueryByMeaning(t *testing.T) {
	f := newFixture(t, setup{Embedder: moduletest.Embedder(t)})
	f.Call("upsert", `{"key": "deploy/command", "content": "The deploy command is make ship"}`)
	f.Call("upsert", `{"content": "Invoices are generated on the first day of the month", "tags": ["billing"]}`)
	f.Call("remember", `{"content": "The cat of the office is called Turing"}`)
	f.Call("task_create", `{"subject": "Feed it", "description": "the tin is in the kitchen"}`)
	for question, want := range map[string]string{
		"how do I deploy":                      "k1: The deploy command is make ship",
		"quand les factures sont-elles créées": "k2: Invoices are generated on the first day of the month",
		"pet":                                  "f1: The cat of the office is called Turing",
		"billing":                              "k2: Invoices are generated on the first day of the month",
		"kitchen":                              "t1: Feed it",
	} {
		if got := f.texts(`{"query": ` + quoted(question) + `}`); len(got) == 0 || got[0] != want {
			t.Errorf("%q found %q, want %q", question, got, want)
		}
	}
	var data struct {
		RankedBy string `json:"ranked_by"`
		Total    int
	}
	r := f.Call("query", `{"query": "quantum chromodynamics"}`, &data)
	if data.Total != 0 || data.RankedBy != "meaning" || r.Summary != "nothing is remembered that fits" {
		t.Errorf("%s: %s", r.Summary, r.Data)
	}
	r = f.Call("query", `{"query": "deploy"}`)
	if !strings.Contains(r.Content[0].Text, "make ship") || !strings.Contains(r.Content[0].Text, "k1 deploy/command") {
		t.Errorf("the text is %q", r.Content[0].Text)
	}
}

type brokenEmbedder struct{}

func (brokenEmbedder) Vectors([]string) ([][]float32, error) {
	return nil, errors.New("no model today")
}

// Without an embedder, query ranks by words, and the result says so.
func TestQueryByWords(t *testing.T) {
	for name, m := range map[string]module.Embedder{"none": nil, "broken": brokenEmbedder{}} {
		f := newFixture(t, setup{Embedder: m})
		f.Call("upsert", `{"content": "The deploy command is make ship"}`)
		f.Call("upsert", `{"content": "Invoices are generated on the first day"}`)
		var data struct {
			RankedBy string `json:"ranked_by"`
			Results  []struct{ Ref string }
		}
		r := f.Call("query", `{"query": "deploying"}`, &data)
		if data.RankedBy != "words" || len(data.Results) != 1 || data.Results[0].Ref != "k1" ||
			len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "not by meaning") {
			t.Errorf("%s: %s, %q", name, r.Data, r.Warnings)
		}
	}
}

func TestQueryByHash(t *testing.T) {
	f := newFixture(t, setup{})
	long := strings.Repeat("a long story ", 5000)
	f.Call("upsert", `{"key": "story", "content": `+quoted(long)+`}`)
	f.Call("remember", `{"content": "password: hunter22 of the door"}`)
	f.as("ada", "engine", "s2").Call("remember", `{"content": "elsewhere"}`)
	long = strings.TrimSpace(long)
	hash := memstore.HashOf(long)
	for name, c := range map[string]struct{ query, want string }{
		"key":                 {"story", "k1"},
		"id":                  {"f1", "f1"},
		"ref":                 {"s2/f1", "s2/f1"},
		"hash":                {hash, "k1"},
		"hash with its kind":  {"sha256:" + strings.ToUpper(hash), "k1"},
		"a longer hash":       {hash + strings.Repeat("0", 32), "k1"},
		"beginning of a hash": {hash[:8], "k1"},
		"too short a hash":    {hash[:7], ""},
		"content":             {long, "k1"},
		"content with secret": {"password: hunter22 of the door", "f1"},
		"nothing":             {"stor", ""},
	} {
		var data struct {
			Results []struct {
				Ref, Text string
				Cut       bool
			}
		}
		f.Call("query", `{"mode": "hash", "query": `+quoted(c.query)+`}`, &data)
		got := ""
		for _, r := range data.Results {
			got += r.Ref
			if r.Cut || r.Ref == "k1" && r.Text != long {
				t.Errorf("%s: %d bytes of the text, cut %v", name, len(r.Text), r.Cut)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestQueryByRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		start := time.Now() // midnight, on the first of January 2000
		for i := range 5 {
			f.Call("remember", fmt.Sprintf(`{"content": "fact %d"}`, i))
			f.Call("upsert", fmt.Sprintf(`{"key": "k-%d", "content": "known %d", "tags": ["odd%d"]}`, i, i, i%2))
			advance(24 * time.Hour)
		}
		day := func(n int) string { return quoted(start.AddDate(0, 0, n).Format(time.DateOnly)) }
		for name, c := range map[string]struct {
			args string
			want []string
		}{
			"everything, newest first": {`"tiers": ["working"]`, []string{"f5", "f4", "f3", "f2", "f1"}},
			"one day":                  {`"tiers": ["working"], "from": ` + day(1) + `, "to": ` + day(1), []string{"f2"}},
			"from a day on":            {`"tiers": ["working"], "from": ` + day(3), []string{"f5", "f4"}},
			"up to a time":             {`"tiers": ["working"], "to": ` + quoted(start.Add(time.Hour).Format(time.RFC3339)), []string{"f1"}},
			"how long ago":             {`"tiers": ["working"], "from": "36h"`, []string{"f5"}},
			"numbers":                  {`"tiers": ["working"], "from_seq": 2, "to_seq": 3`, []string{"f3", "f2"}},
			"numbers of knowledge":     {`"tiers": ["knowledge"], "from_seq": 5`, []string{"k5"}},
			"tags":                     {`"tags": ["odd1"]`, []string{"k4", "k2"}},
			"all tiers":                {`"from": "36h"`, []string{"f5", "k5"}},
			"a page":                   {`"tiers": ["working"], "limit": 2, "offset": 1`, []string{"f4", "f3"}},
			"past the end":             {`"tiers": ["working"], "offset": 9`, nil},
		} {
			var data struct{ Results []struct{ Ref string } }
			f.Call("query", `{"mode": "range", `+c.args+`}`, &data)
			var got []string
			for _, r := range data.Results {
				got = append(got, r.Ref)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		var data struct {
			Next  int `json:"next_offset"`
			Total int
		}
		r := f.Call("query", `{"mode": "range", "limit": 4}`, &data)
		if data.Next != 4 || data.Total != 10 || !strings.Contains(r.Summary, "offset=4") {
			t.Errorf("%s: %+v", r.Summary, data)
		}
		if got := f.texts(`{"query": "fact", "from": "36h"}`); len(got) != 1 || got[0] != "f5: fact 4" {
			t.Errorf("by words in a range: %q", got)
		}
	})
}

func TestQueryRefused(t *testing.T) {
	f := newFixture(t, setup{})
	for args, words := range map[string]string{
		`{}`:                                   "needs a query",
		`{"query": "  "}`:                      "needs a query",
		`{"mode": "hash"}`:                     "needs a query",
		`{"mode": "range", "from_seq": 1}`:     "one tier",
		`{"query": "x", "from_seq": 1}`:        "mode range",
		`{"mode": "range", "from": "someday"}`: "2026-03-01",
		`{"mode": "range", "to": "-"}`:         "2026-03-01",
		`{"mode": "range", "from": "2026-03-02", "to": "2026-03-01"}`:         "is after",
		`{"mode": "range", "tiers": ["session"], "from_seq": 1}`:              "one tier",
		`{"mode": "range", "tiers": ["working"], "from_seq": 3, "to_seq": 2}`: "is after",
		`{"mode": "range", "tiers": ["working", "knowledge"], "to_seq": 2}`:   "one tier",
	} {
		f.fails("query", args, tool.Invalid, words)
	}
}

// A result is bounded, however large the memory is.
func TestQueryIsBounded(t *testing.T) {
	f := newFixture(t, setup{})
	for i := range 30 {
		f.Call("upsert", fmt.Sprintf(`{"content": %s}`, quoted(fmt.Sprint("entry ", i, strings.Repeat(" word", 1000)))))
	}
	var data struct {
		Total   int
		Next    int `json:"next_offset"`
		Results []struct {
			Text string
			Cut  bool
		}
	}
	r := f.Call("query", `{"query": "word", "limit": 50}`, &data)
	if data.Total != 30 || len(r.Data) > 40<<10 || data.Next != len(data.Results) || len(data.Results) < 5 ||
		!data.Results[0].Cut {
		t.Errorf("%d bytes, %d of %d results", len(r.Data), len(data.Results), data.Total)
	}
}

func TestOtherSessionsAreTheLastTen(t *testing.T) {
	f := newFixture(t, setup{})
	for i := range 12 {
		f.as("ada", "engine", fmt.Sprint("old", i)).Call("remember", fmt.Sprintf(`{"content": "note %d"}`, i))
	}
	var data struct{ Total int }
	if f.Call("query", `{"query": "note", "tiers": ["session"]}`, &data); data.Total != 10 {
		t.Errorf("%d", data.Total)
	}
}

func TestSessionsBeforeThoseAreSummaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{})
		for i := range 13 {
			old := f.as("ada", "engine", fmt.Sprint("old", i))
			old.Call("set_goal", fmt.Sprintf(`{"goal": "bridge %d"}`, i))
			old.Call("task_create", `{"subject": "find the river"}`)
			old.Call("remember", fmt.Sprintf(`{"content": "the river is %d wide"}`, i))
			advance(time.Hour)
		}
		all := `{"mode": "range", "tiers": ["long_term"]}`
		want := []string{
			"old2/all: Goal: bridge 2\n[ ] find the river\n- the river is 2 wide",
			"old1/all: Goal: bridge 1\n[ ] find the river\n- the river is 1 wide",
			"old0/all: Goal: bridge 0\n[ ] find the river\n- the river is 0 wide",
		}
		if diff := cmp.Diff(want, f.texts(all)); diff != "" {
			t.Error(diff)
		}
		if got := f.texts(`{"mode": "hash", "query": "old1/all"}`); len(got) != 1 || got[0] != want[1] {
			t.Errorf("by its ref: %q", got)
		}
		if got := f.texts(`{"query": "which bridge was 1 wide", "limit": 1, "tiers": ["long_term"]}`); len(got) != 1 {
			t.Errorf("by what it is about: %q", got)
		}
		f.as("bob", "engine", "x").Call("remember", `{"content": "mine"}`)
		if got := f.as("bob", "engine", "y").texts(all); len(got) != 0 {
			t.Errorf("another user sees %q", got)
		}
		f.Call("forget", `{"refs": ["old1/all"]}`)
		if diff := cmp.Diff([]string{want[0], want[2]}, f.texts(all)); diff != "" {
			t.Errorf("after forgetting one: %s", diff)
		}
	})
}

func TestCompact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, setup{Embedder: moduletest.Embedder(t)})
		f.Call("task_create", `{"subject": "long done"}`)
		f.Call("task_update", `{"task_id": "t1", "status": "completed"}`)
		advance(48 * time.Hour)
		f.Call("task_create", `{"subject": "just done"}`)
		f.Call("task_update", `{"task_id": "t2", "status": "completed"}`)
		f.Call("task_create", `{"subject": "open"}`)
		for _, text := range []string{
			"alice manages bob", "The deploy command is make ship", "bob manages alice", "the cat is called Turing",
		} {
			f.Call("remember", `{"content": `+quoted(text)+`}`)
		}
		f.Call("upsert", `{"key": "a", "content": "said twice"}`)
		f.Call("upsert", `{"key": "b", "content": "said twice"}`)

		var data struct {
			Dropped []struct{ Ref, Why string }
			Similar []struct{ A, B string }
		}
		refs := func() (all []string) {
			for _, d := range data.Dropped {
				all = append(all, d.Ref)
			}
			for _, p := range data.Similar {
				all = append(all, p.A+"="+p.B)
			}
			return all
		}
		before := f.texts(`{"mode": "range", "limit": 50}`)
		f.Call("compact", `{"dry_run": true}`, &data)
		if diff := cmp.Diff([]string{"t1", "f1=f3", "k1=k2"}, refs()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, f.texts(`{"mode": "range", "limit": 50}`)); diff != "" {
			t.Errorf("a dry run changed something: %s", diff)
		}
		r := f.Call("compact", `{}`, &data)
		if diff := cmp.Diff([]string{"t1", "f1=f3", "k1=k2"}, refs()); diff != "" ||
			!strings.Contains(r.Summary, "dropped 1 entry; 2 pairs mean nearly the same") {
			t.Error(r.Summary, diff)
		}
		f.Call("compact", `{"tiers": ["working"], "completed_older_than_hours": 0}`, &data)
		if diff := cmp.Diff([]string{"t2", "f1=f3"}, refs()); diff != "" {
			t.Error(diff)
		}
		if len(f.texts(`{"mode": "range", "limit": 50}`)) != len(before)-2 {
			t.Error("more went than completed tasks")
		}
	})
}

// Of facts with the same text, compact keeps the newest. They come about when the
// text of an older one changes.
func TestCompactDuplicates(t *testing.T) {
	f := newFixture(t, setup{})
	store := memstore.Open(f.Host.Documents, "", nil)
	session := memstore.Key{User: "ada", App: "engine", Session: "s1"}
	check(t, store.Change(t.Context(), session, func(edit *memstore.Edit) error {
		for _, text := range []string{"the same", "another", "The same.", "the  same"} {
			edit.Put(memstore.Entry{Kind: memstore.Fact, Text: text})
		}
		return nil
	}))
	knowledge := memstore.Key{User: "ada", App: "engine", Knowledge: true}
	check(t, store.Change(t.Context(), knowledge, func(edit *memstore.Edit) error {
		edit.Put(memstore.Entry{Kind: memstore.Knowledge, Key: "kept", Text: "known"})
		edit.Put(memstore.Entry{Kind: memstore.Knowledge, Text: "known"})
		return nil
	}))
	check(t, store.Close())
	f.Call("compact", `{}`)
	got := f.texts(`{"mode": "range", "tiers": ["working"]}`)
	got = append(got, f.texts(`{"mode": "range", "tiers": ["knowledge"]}`)...)
	if diff := cmp.Diff([]string{"f4: the  same", "f2: another", "k1: known"}, got); diff != "" {
		t.Error(diff)
	}
	if r := f.Call("compact", `{}`); r.Summary != "there is nothing to tidy up" {
		t.Error(r.Summary)
	}
}

// summarizer is a Summarizer that can fail, and that calls during meanwhile.
type summarizer struct {
	text   string
	err    error
	during func()
}

func (w *summarizer) Summarize(_ context.Context, call tool.Call, texts []string) (memory.Summary, error) {
	if w.during != nil {
		w.during()
	}
	return memory.Summary{
		Text:     fmt.Sprintf("%s of %d, from %s", w.text, len(texts), texts[0]),
		Attempts: []tool.Attempt{{Model: "a/b", Input: 7, Error: call.Principal.User}},
	}, w.err
}

func TestSummarizer(t *testing.T) {
	w := &summarizer{text: "a summary with password=hunter22"}
	f := newFixture(t, setup{Summarizer: w})
	for i := range 25 {
		f.Call("remember", fmt.Sprintf(`{"content": "fact %d"}`, i))
	}
	w.err = errors.New("no model today")
	f.Call("forget", `{"refs": ["f1"]}`)
	r := f.Call("compact", `{}`)
	const kept = "the 4 oldest facts are kept as they were, not summed up: no model today"
	if !slices.Contains(r.Warnings, kept) || len(f.texts(`{"mode": "range", "limit": 50}`)) != 24 {
		t.Errorf("without a model the result is %+v", r)
	}
	if len(r.Attempts) != 1 || r.Attempts[0].Input != 7 || r.Attempts[0].Error != "ada" {
		t.Errorf("what was asked is not in the result: %+v", r.Attempts)
	}
	w.err, w.during = nil, func() { f.Call("forget", `{"refs": ["f2"]}`) }
	var data struct{ Summarized int }
	if f.Call("compact", `{}`, &data); data.Summarized != 0 {
		t.Errorf("the facts changed meanwhile, yet %d were summarized", data.Summarized)
	}
	w.during = nil
	f.Call("compact", `{"dry_run": true}`)
	if f.Call("compact", `{}`, &data); data.Summarized != 3 {
		t.Errorf("%d summarized", data.Summarized)
	}
	got := f.texts(`{"mode": "range", "limit": 50}`)
	if len(got) != 21 || got[0] != "summary: a summary with password=[redacted] of 3, from fact 2" {
		t.Errorf("%d: %q", len(got), got[0])
	}
	// The next compaction updates it.
	for i := range 2 {
		f.Call("remember", fmt.Sprintf(`{"content": "later fact %d"}`, i))
	}
	w.text = "all of it"
	if r := f.Call("compact", `{}`, &data); data.Summarized != 2 || r.Summary != "dropped 0 entries; the summary took in 2 facts" {
		t.Errorf("%d summarized: %s", data.Summarized, r.Summary)
	}
	const now = "summary: all of it of 3, from a summary with password=[redacted] of 3, from fact 2"
	if got := f.texts(`{"mode": "range", "limit": 50}`); len(got) != 21 || got[0] != now {
		t.Errorf("%d: %q", len(got), got[0])
	}
	if section := f.section(); !strings.Contains(section, "Before: all of it of 3") {
		t.Errorf("the agent is told %s", section)
	}
	if got := f.texts(`{"mode": "hash", "query": "summary"}`); len(got) != 1 {
		t.Errorf("by its ref: %q", got)
	}
	f.Call("forget", `{"refs": ["summary"]}`)
	if got := f.texts(`{"mode": "range", "limit": 50}`); len(got) != 20 || strings.HasPrefix(got[0], "summary") {
		t.Errorf("after forgetting it: %d, %q", len(got), got[0])
	}
}
