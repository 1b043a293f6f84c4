package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
	"callgate/internal/module/memory"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/moduletest"
	"callgate/tool"
)

func TestTools(t *testing.T) {
	f := newFixture(t, setup{})
	for _, one := range f.Instance.Tools {
		check(t, one.Validate())
		if len(one.Spec.Examples) == 0 || len(one.Spec.Aliases) < 8 || len(one.Spec.Tags) < 5 {
			t.Errorf("%s has %d examples, %d aliases, %d tags",
				one.ID, len(one.Spec.Examples), len(one.Spec.Aliases), len(one.Spec.Tags))
		}
		for _, e := range one.Spec.Examples {
			if err := validate(one.Spec.Input, e.Args); err != nil {
				t.Errorf("an example of %s: %v", one.ID, err)
			}
		}
		if one.Runtime.Risk != tool.Low || one.Runtime.SideEffect.Durable() == (one.ID.Name == "query") {
			t.Errorf("%s: %+v", one.ID, one.Runtime)
		}
	}
}

func TestSettings(t *testing.T) {
	m := memory.Module(memory.Config{})
	for name, c := range map[string]struct {
		config map[string]any
		errHas string
	}{
		"all of them": {map[string]any{
			"max_facts": 10, "max_todos": 5, "redact_secrets": false, "extra_sensitive_patterns": []any{`EMP-\d+`},
		}, ""},
		"misspelt":      {map[string]any{"max_fact": 10}, "max_facts"},
		"too few":       {map[string]any{"max_facts": 0}, "from 1 to 1000"},
		"bad pattern":   {map[string]any{"extra_sensitive_patterns": []any{"("}}, "regular expression"},
		"empty pattern": {map[string]any{"extra_sensitive_patterns": []any{"a*"}}, "matches the empty text"},
	} {
		_, err := m.Read(c.config, nil)
		if (err == nil) != (c.errHas == "") || err != nil && !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTasks(t *testing.T) {
	f := newFixture(t, setup{})
	var task struct {
		ID, Status, Next string
		Existed          bool
		Open, Total      int
		Previous         string `json:"previous_status"`
	}
	for i, subject := range []string{"look", "leap", "land"} {
		f.Call("task_create", `{"subject": `+quoted(subject)+`}`, &task)
		if task.ID != fmt.Sprint("t", i+1) || task.Status != "pending" {
			t.Errorf("task %+v", task)
		}
	}
	f.Call("task_create", `{"subject": "Leap.", "description": "far"}`, &task)
	if !task.Existed || task.ID != "t2" || task.Total != 3 {
		t.Errorf("the same task again: %+v", task)
	}
	f.Call("task_update", `{"task_id": "t1", "status": "completed"}`, &task)
	if task.Status != "completed" || task.Previous != "pending" || task.Next != "t2" || task.Open != 2 {
		t.Errorf("%+v", task)
	}
	f.Call("task_update", `{"taskId": "t3", "status": "blocked", "description": "no ground"}`, &task)
	if task.ID != "t3" || task.Status != "blocked" {
		t.Errorf("%+v", task)
	}
	f.fails("task_update", `{"task_id": "t9", "status": "pending"}`, tool.NotFound, "t1, t2, t3")
	f.fails("task_update", `{"status": "pending"}`, tool.Invalid, "task_id")
	f.Call("remember", `{"content": "x"}`)
	f.fails("task_update", `{"task_id": "f1", "status": "pending"}`, tool.NotFound, "no task")
	other := f.as("ada", "engine", "s2")
	other.fails("task_update", `{"task_id": "t1", "status": "pending"}`, tool.NotFound, "task_create")
}

func TestTooManyTasks(t *testing.T) {
	f := newFixture(t, setup{})
	f.configure(map[string]any{"max_todos": 3})
	for i := range 3 {
		f.Call("task_create", fmt.Sprintf(`{"subject": "task %d"}`, i))
	}
	f.fails("task_create", `{"subject": "one more"}`, tool.Limited, "3 open tasks")
	f.Call("task_update", `{"task_id": "t2", "status": "completed"}`)
	var task struct {
		ID      string
		Dropped []string
	}
	f.Call("task_create", `{"subject": "one more"}`, &task)
	if diff := cmp.Diff([]string{"t2"}, task.Dropped); diff != "" || task.ID != "t4" {
		t.Errorf("%+v %s", task, diff)
	}
}

func TestFacts(t *testing.T) {
	f := newFixture(t, setup{})
	f.configure(map[string]any{"max_facts": 3})
	var fact struct {
		ID      string
		Facts   int
		Known   bool
		Dropped []string
	}
	for _, text := range []string{"one", "two", "One.", "  one ", "FOO=a", "FOO=A"} {
		f.Call("remember", `{"content": `+quoted(text)+`}`, &fact)
	}
	if fact.ID != "f4" || fact.Facts != 3 || len(fact.Dropped) != 1 || fact.Dropped[0] != "two" {
		t.Errorf("%+v", fact)
	}
	want := []string{"f4: FOO=A", "f3: FOO=a", "f1: one"}
	if diff := cmp.Diff(want, f.texts(`{"mode": "range", "tiers": ["working"]}`)); diff != "" {
		t.Error(diff)
	}
	f.Call("remember", `{"content": "FOO=A"}`, &fact)
	if !fact.Known || fact.ID != "f4" {
		t.Errorf("%+v", fact)
	}
	f.fails("remember", `{"content": " \u0000\u200b\n"}`, tool.Invalid, "empty")
}

// Texts count correctly, in the singular too.
func TestCounts(t *testing.T) {
	f := newFixture(t, setup{})
	f.configure(map[string]any{"max_facts": 1, "max_todos": 1})
	f.Call("remember", `{"content": "one"}`)
	r := f.Call("remember", `{"content": "two"}`)
	if r.Summary != "kept as f2; the session keeps 1 fact, so the oldest went" {
		t.Error(r.Summary)
	}
	f.Call("task_create", `{"subject": "a"}`)
	f.fails("task_create", `{"subject": "b"}`, tool.Limited, "the list has 1 open task, and no more than 1 are kept")
	if r := f.Call("upsert", `{"content": "x"}`); r.Summary != "created k1; the knowledge has 1 entry" {
		t.Error(r.Summary)
	}
	for args, want := range map[string]string{
		`{"mode": "range", "tiers": ["knowledge"]}`:              "1 entry found",
		`{"mode": "range"}`:                                      "3 entries found",
		`{"mode": "range", "limit": 1}`:                          "3 entries found, 1 shown; continue with offset=1",
		`{"mode": "range", "offset": 9}`:                         "3 entries found; offset=9 is past the last",
		`{"mode": "range", "offset": 9, "tiers": ["session"]}`:   "nothing is remembered that fits",
		`{"mode": "range", "offset": 1, "tiers": ["knowledge"]}`: "1 entry found; offset=1 is past the last",
	} {
		if r := f.Call("query", args); r.Summary != want {
			t.Errorf("%s: %q, want %q", args, r.Summary, want)
		}
	}
}

// Memory survives the kernel, and each session, user and app sees only its own.
func TestAcrossRestartsAndSessions(t *testing.T) {
	f := newFixture(t, setup{Embedder: moduletest.Embedder(t)})
	f.Call("set_goal", `{"goal": "mend the door"}`)
	f.Call("task_create", `{"subject": "find the hinge"}`)
	f.Call("remember", `{"content": "the door opens inwards"}`)
	f.Call("upsert", `{"key": "door/colour", "content": "doors are painted green here", "tags": ["paint"]}`)
	want := f.section()
	f.restart()
	if got := f.section(); got != want || !strings.Contains(got, "mend the door") {
		t.Errorf("before %q, after %q", want, got)
	}
	next := f.as("ada", "engine", "s2")
	if got := next.section(); strings.Contains(got, "door") || !strings.Contains(got, "Knowledge: 1 entry") {
		t.Errorf("the prompt of a new session has %q", got)
	}
	known := next.texts(`{"query": "which colour", "tiers": ["knowledge"]}`)
	if diff := cmp.Diff([]string{"k1: doors are painted green here"}, known); diff != "" {
		t.Error(diff)
	}
	got := next.texts(`{"query": "how does the door open", "tiers": ["session"]}`)
	if len(got) == 0 || got[0] != "s1/f1: the door opens inwards" {
		t.Errorf("of the other session: %q", got)
	}
	for _, other := range []*fixture{f.as("eve", "engine", "s1"), f.as("ada", "other", "s1")} {
		if got := other.texts(`{"mode": "range"}`); got != nil || other.section() != "" {
			t.Errorf("%v sees %q, and %q in its prompt", other.By, got, other.section())
		}
		other.fails("forget", `{"refs": ["f1", "s1/f1", "door/colour"]}`, tool.NotFound, "f1")
	}
}

func TestUpsert(t *testing.T) {
	f := newFixture(t, setup{})
	var k struct {
		ID, Key, Hash, Outcome string
		Entries                int
	}
	for _, c := range []struct{ args, id, outcome string }{
		{`{"key": "a", "content": "one"}`, "k1", "created"},
		{`{"key": "a", "content": "one"}`, "k1", "unchanged"},
		{`{"key": "a", "content": "two", "tags": ["x", "x"]}`, "k1", "replaced"},
		{`{"content": "two"}`, "k1", "unchanged"},
		{`{"content": "three"}`, "k2", "created"},
		{`{"content": "Three."}`, "k2", "replaced"},
		{`{"key": "b", "content": "three"}`, "k2", "replaced"},
		{`{"key": "c", "content": "three"}`, "k3", "created"},
	} {
		f.Call("upsert", c.args, &k)
		if k.ID != c.id || k.Outcome != c.outcome {
			t.Errorf("%s: %+v, want %s %s", c.args, k, c.id, c.outcome)
		}
	}
	f.fails("upsert", `{"key": "k7", "content": "x"}`, tool.Invalid, "looks like the id")
	f.fails("upsert", `{"key": "password=hunter22", "content": "x"}`, tool.Invalid, "secret")
	f.fails("upsert", `{"content": `+quoted(strings.Repeat("é", 40_000))+`}`, tool.Invalid, "65536")
}

func TestForget(t *testing.T) {
	f := newFixture(t, setup{})
	f.Call("set_goal", `{"goal": "a quiet goal"}`)
	f.Call("remember", `{"content": "a quiet fact"}`)
	f.Call("task_create", `{"subject": "a quiet task"}`)
	f.Call("upsert", `{"key": "quiet/key", "content": "quiet knowledge"}`)
	f.Call("upsert", `{"content": "more quiet knowledge"}`)
	f.as("ada", "engine", "s/2").Call("remember", `{"content": "a quiet fact elsewhere"}`)
	var data struct {
		Forgotten []struct{ Ref string }
		Missing   []string
	}
	f.Call("forget", `{"refs": ["goal", "f1", "t1", "quiet/key", "k2", "s/2/f1", "f9"]}`, &data)
	if len(data.Forgotten) != 6 || len(data.Missing) != 1 {
		t.Errorf("%+v", data)
	}
	if got := f.section(); got != "" {
		t.Errorf("the section still has %q", got)
	}
	check(t, filepath.WalkDir(f.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "quiet") {
			t.Errorf("%s still holds %s (%v)", path, data, err)
		}
		return nil
	}))
	f.fails("forget", `{"refs": ["f1"]}`, tool.NotFound, "memory.query")
}

// No tool stores a secret, in any of its arguments.
func TestSecretsAreNeverStored(t *testing.T) {
	f := newFixture(t, setup{})
	f.Host.Scrub = func(text string) string { return strings.ReplaceAll(text, "vaultvalue", "[secret VAULT]") }
	f.restart()
	key := "sk-" + strings.Repeat("aB3", 12)
	secret := "the key " + key + " and vaultvalue and password=hunter22"
	for name, args := range map[string]string{
		"set_goal":    `{"goal": %s}`,
		"task_create": `{"subject": %s, "description": %[1]s}`,
		"remember":    `{"content": %s}`,
		"upsert":      `{"content": %s, "tags": ["of vaultvalue"]}`,
	} {
		r := f.Call(name, fmt.Sprintf(args, quoted(secret)))
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "taken out") {
			t.Errorf("%s warned %q", name, r.Warnings)
		}
		if strings.Contains(string(r.Data)+r.Summary, key) {
			t.Errorf("%s reveals the key: %s", name, r.Data)
		}
	}
	again := quoted("new " + secret)
	f.Call("task_update", `{"task_id": "t1", "status": "blocked", "subject": `+again+`, "description": `+again+`}`)
	for _, alone := range []string{key, "vaultvalue", " vaultvalue\n"} {
		f.fails("remember", `{"content": `+quoted(alone)+`}`, tool.Invalid, "callgate secrets set")
	}
	found := false
	check(t, filepath.WalkDir(f.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, s := range []string{key, "vaultvalue", "hunter22"} {
			if err != nil || strings.Contains(string(data), s) {
				t.Errorf("%s holds %s (%v)", path, s, err)
			}
		}
		found = found || strings.Contains(string(data), "[secret VAULT]")
		return nil
	}))
	if !found || !strings.Contains(f.section(), "[secret VAULT]") {
		t.Errorf("in a file: %v; section %q", found, f.section())
	}
}

func TestRedactionIsTheAppsChoice(t *testing.T) {
	f := newFixture(t, setup{})
	f.Host.Scrub = func(text string) string { return strings.ReplaceAll(text, "vaultvalue", "[secret VAULT]") }
	f.restart()
	f.configure(map[string]any{"redact_secrets": false})
	f.Call("remember", `{"content": "password: letmein99, vaultvalue"}`)
	f.configure(map[string]any{"extra_sensitive_patterns": []any{`EMP-\d+`}})
	f.Call("remember", `{"content": "ask EMP-1234"}`)
	want := []string{"f2: ask [redacted]", "f1: password: letmein99, [secret VAULT]"}
	if diff := cmp.Diff(want, f.texts(`{"mode": "range"}`)); diff != "" {
		t.Error(diff)
	}
}

func TestManyAtOnce(t *testing.T) {
	f := newFixture(t, setup{})
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 8 {
				for _, c := range [][2]string{
					{"remember", fmt.Sprintf(`{"content": "fact %d of %d"}`, i, w)},
					{"upsert", fmt.Sprintf(`{"key": "key %d", "content": "of %d"}`, i, w)},
					{"query", `{"query": "fact"}`},
				} {
					if _, err := f.Try(c[0], c[1]); err != nil {
						t.Error(err)
					}
				}
				_ = f.section()
			}
		})
	}
	wg.Wait()
	f.restart()
	var data struct{ Total int }
	if f.Call("query", `{"mode": "range", "tiers": ["working"]}`, &data); data.Total != 48 {
		t.Errorf("%d facts", data.Total)
	}
	if f.Call("query", `{"mode": "range", "tiers": ["knowledge"]}`, &data); data.Total != 8 {
		t.Errorf("%d entries", data.Total)
	}
}

func TestClosed(t *testing.T) {
	f := newFixture(t, setup{})
	f.Call("remember", `{"content": "x"}`)
	f.Instance.OnSessionEnd("s1")
	f.Call("remember", `{"content": "y"}`)
	check(t, f.Instance.Close())
	if _, err := f.Try("remember", `{"content": "z"}`); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("error %v", err)
	}
	if f.section() != "" {
		t.Error("a closed module still has a section")
	}
}

func TestBadArguments(t *testing.T) {
	f := newFixture(t, setup{})
	for _, one := range f.Instance.Tools {
		_, err := one.Handler.Execute(t.Context(), tool.Call{Principal: f.By, Args: json.RawMessage(`[]`)}, tool.Grant{})
		if tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", one.ID, err)
		}
	}
}

func BenchmarkSection(b *testing.B) {
	f := newFixture(b, setup{})
	f.Call("set_goal", `{"goal": "mend the door"}`)
	for i := range 20 {
		f.Call("task_create", fmt.Sprintf(`{"subject": "step %d of the way to the mended door"}`, i))
		f.Call("remember", fmt.Sprintf(`{"content": "fact %d: integration tests need a running postgres on port 5433"}`, i))
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = f.section()
	}
}

func BenchmarkRemember(b *testing.B) {
	f := newFixture(b, setup{})
	one := f.Tool("remember")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		args := fmt.Appendf(nil, `{"content": "fact %d: integration tests need a running postgres"}`, i)
		_, err := one.Handler.Execute(b.Context(), tool.Call{Principal: f.By, Args: args}, f.Grant)
		check(b, err)
	}
}

// BenchmarkKnowledge5000 measures a change and a query of a full knowledge.
func BenchmarkKnowledge5000(b *testing.B) {
	f := newFixture(b, setup{Embedder: moduletest.Embedder(b)})
	store := memstore.Open(f.Host.Documents, "", nil)
	text := strings.Repeat("integration tests need a running postgres on port 5433 ", 8)
	knowledge := memstore.Key{User: "ada", App: "engine", Knowledge: true}
	check(b, store.Change(b.Context(), knowledge, func(edit *memstore.Edit) error {
		for i := range 4_999 {
			edit.Put(memstore.Entry{Kind: memstore.Knowledge, Text: fmt.Sprintf("note %d: %s", i, text)})
		}
		return nil
	}))
	for name, args := range map[string]string{
		"upsert": `{"key": "a", "content": "it is %d"}`,
		"query":  `{"query": "which database do tests need", "offset": %d}`,
	} {
		b.Run(name, func(b *testing.B) {
			one, i := f.Tool(name), 0
			b.ReportAllocs()
			for b.Loop() {
				i++
				_, err := one.Handler.Execute(b.Context(), tool.Call{Principal: f.By, Args: fmt.Appendf(nil, args, i%10)}, f.Grant)
				check(b, err)
			}
		})
	}
}

// contended is a store of documents in which another kernel is faster once, at
// each change.
type contended struct {
	document.Store
	second bool
}

func (c *contended) Write(ctx context.Context, changes ...document.Change) (int64, error) {
	if c.second = !c.second; c.second {
		return 0, tool.Errorf("test", tool.Conflict, "another kernel was faster")
	}
	return c.Store.Write(ctx, changes...)
}

// A change that is repeated, because another kernel was faster, says the same as
// one that is made at once.
func TestRepeatedChanges(t *testing.T) {
	alone, shared := newFixture(t, setup{}), newFixture(t, setup{})
	shared.Host.Documents = &contended{Store: shared.Host.Documents}
	shared.restart()
	for _, f := range []*fixture{alone, shared} {
		f.configure(map[string]any{"max_facts": 2, "max_todos": 1})
	}
	for _, c := range []struct{ tool, args string }{
		{"set_goal", `{"goal": "one"}`},
		{"set_goal", `{"goal": "two"}`},
		{"task_create", `{"subject": "a task"}`},
		{"task_create", `{"subject": "A task", "description": "more"}`},
		{"task_update", `{"task_id": "t1", "status": "completed"}`},
		{"task_create", `{"subject": "another"}`},
		{"remember", `{"content": "a fact"}`},
		{"remember", `{"content": "b fact"}`},
		{"remember", `{"content": "A fact"}`},
		{"remember", `{"content": "c fact"}`},
		{"upsert", `{"key": "k", "content": "known"}`},
		{"upsert", `{"key": "k", "content": "better known"}`},
		{"upsert", `{"content": "better known."}`},
		{"task_update", `{"task_id": "t2", "status": "completed"}`},
		{"compact", `{"completed_older_than_hours": 0}`},
		{"forget", `{"refs": ["goal", "f1", "k", "f9"]}`},
	} {
		want, got := alone.Call(c.tool, c.args), shared.Call(c.tool, c.args)
		if diff := cmp.Diff(string(want.Data), string(got.Data)); diff != "" || want.Summary != got.Summary {
			t.Errorf("%s(%s) says %q, want %q: %s", c.tool, c.args, got.Summary, want.Summary, diff)
		}
	}
	if diff := cmp.Diff(alone.section(), shared.section()); diff != "" {
		t.Error(diff)
	}
}

// Without documents the tools say so, and the prompt has no section.
func TestWithoutDocuments(t *testing.T) {
	f := newFixture(t, setup{})
	f.Host.Documents = nil
	f.restart()
	f.fails("remember", `{"content": "a fact"}`, tool.Unavailable, "no place")
	if _, err := f.Try("query", `{"query": "fact", "tiers": ["session"]}`); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a query gave %v", err)
	}
	if got := f.section(); got != "" {
		t.Errorf("the section is %q", got)
	}
}
