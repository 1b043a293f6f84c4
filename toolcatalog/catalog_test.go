package toolcatalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"callgate/tool"
	"callgate/toolcatalog"
)

// newTool makes a tool from its ID.
func newTool(t testing.TB, id, description string, tags ...string) *tool.Tool {
	t.Helper()
	parsed, err := tool.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Tool{
		ID: parsed,
		Spec: tool.Spec{
			Name: parsed.Dotted(), Description: description, Tags: tags, Input: json.RawMessage(`{"type":"object"}`),
		},
		Handler: tool.HandlerFunc(func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) { return nil, nil }),
	}
}

// backend is one whose listing a test decides.
type backend struct {
	name string
	list func() ([]*tool.Tool, error)
}

func (b backend) Name() string                               { return b.name }
func (b backend) List(context.Context) ([]*tool.Tool, error) { return b.list() }
func local(t testing.TB, name string, tools ...*tool.Tool) *toolcatalog.Local {
	t.Helper()
	l := toolcatalog.NewLocal(name)
	if err := l.Register(tools...); err != nil {
		t.Fatal(err)
	}
	return l
}

func catalog(t testing.TB, scores toolcatalog.Scores, backends ...toolcatalog.Backend) *toolcatalog.Catalog {
	t.Helper()
	c := toolcatalog.New(toolcatalog.Options{Scores: scores})
	for _, b := range backends {
		if err := c.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func ids(tools []*tool.Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.ID.String())
	}
	return strings.Join(all, " ")
}

func TestBackends(t *testing.T) {
	one := local(t, "one", newTool(t, "desk:triage@1.0.0", "of one"))
	two := local(t, "two", newTool(t, "desk:triage@1.0.0", "of two"), newTool(t, "desk:triage@1.4.0", "of two"),
		newTool(t, "desk:triage@2.0.0", "of two"))
	c := catalog(t, nil, one, two)
	if err := c.Add(toolcatalog.NewLocal("one")); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second backend named one: %v", err)
	}
	if err := c.Add(toolcatalog.NewLocal("")); tool.KindOf(err) != tool.Invalid {
		t.Errorf("a backend without a name: %v", err)
	}
	for reference, want := range map[string]string{
		"desk:triage": "desk:triage@2.0.0 of two", "desk:triage@1.0.0": "desk:triage@1.0.0 of one",
		"desk:triage@^1": "desk:triage@1.4.0 of two", "desk:triage@~1.0": "desk:triage@1.0.0 of one",
		"desk:triage@>=1 <2": "desk:triage@1.4.0 of two", "desk:triage@latest": "desk:triage@2.0.0 of two",
	} {
		got, err := c.Get(t.Context(), reference)
		if err != nil || got.ID.String()+" "+got.Spec.Description != want {
			t.Errorf("Get(%s) = %v, %v; want %s", reference, got, err, want)
		}
	}
	for _, reference := range []string{"desk:triage@^3", "desk:other", "desk"} {
		if got, err := c.Get(t.Context(), reference); err == nil {
			t.Errorf("Get(%s) = %v", reference, got.ID)
		}
	}
	if !c.Remove("two") || c.Remove("two") {
		t.Error("Remove does not tell whether the backend was there")
	}
	if all, _, err := c.List(t.Context()); err != nil || ids(all) != "desk:triage@1.0.0" {
		t.Errorf("after the second is gone: %s, %v", ids(all), err)
	}
}

func TestLocal(t *testing.T) {
	l := local(t, "local", newTool(t, "a:x@1.0.0", "first"))
	c := catalog(t, nil, l)
	describe := func() string {
		got, err := c.Get(t.Context(), "a:x@1.0.0")
		if err != nil {
			return err.Error()
		}
		return got.Spec.Description
	}
	if got := describe(); got != "first" {
		t.Error(got)
	}
	if err := l.Register(newTool(t, "a:y@1.0.0", "y"), newTool(t, "a:x@1.0.0", "second")); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second a:x: %v", err)
	}
	if err := l.Register(newTool(t, "b:z@1.0.0", "z"), newTool(t, "b:z@1.0.0", "z")); tool.KindOf(err) != tool.Conflict {
		t.Errorf("the same twice: %v", err)
	}
	if err := l.Register(&tool.Tool{}); err == nil {
		t.Error("a tool that is none was registered")
	}
	if l.Size() != 1 || describe() != "first" {
		t.Errorf("a refused registration changed something: %d tools, %s", l.Size(), describe())
	}
	if err := l.Replace(newTool(t, "a:x@1.0.0", "second")); err != nil || describe() != "second" || l.Size() != 1 {
		t.Errorf("replaced: %v, %s, %d tools", err, describe(), l.Size())
	}
	id, _ := tool.ParseID("a:x@1.0.0")
	if !l.Unregister(id) || l.Unregister(id) || l.Size() != 0 {
		t.Error("Unregister does not tell whether the tool was there")
	}
	if _, err := c.Get(t.Context(), "a:x"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("an unregistered tool: %v", err)
	}
}

// One backend that fails breaks no lookup, is reported beside, and keeps what it had.
func TestFailingBackend(t *testing.T) {
	var down error
	flaky := backend{"flaky", func() ([]*tool.Tool, error) {
		return []*tool.Tool{newTool(t, "f:x@1.0.0", "x")}, down
	}}
	down = errors.New("the server is down")
	c := catalog(t, nil, flaky, local(t, "solid", newTool(t, "s:x@1.0.0", "x")))
	all, problems, err := c.List(t.Context())
	if err != nil || ids(all) != "s:x@1.0.0" || fmt.Sprint(problems) != "[{flaky the server is down}]" {
		t.Errorf("%s, %v, %v", ids(all), problems, err)
	}
	if _, err := c.Get(t.Context(), "f:x"); tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "is down") {
		t.Errorf("a tool that may be where nobody can look: %v", err)
	}
	down = nil
	c.Invalidate("flaky")
	if all, problems, _ = c.List(t.Context()); ids(all) != "f:x@1.0.0 s:x@1.0.0" || problems != nil {
		t.Errorf("after it recovered: %s, %v", ids(all), problems)
	}
	down = errors.New("again")
	c.Invalidate()
	if all, problems, _ = c.List(t.Context()); ids(all) != "f:x@1.0.0 s:x@1.0.0" || len(problems) != 1 {
		t.Errorf("after it failed again: %s, %v", ids(all), problems)
	}
}

// Readers who come while backends are listed wait for that one listing.
func TestFirstReadersShareOneListing(t *testing.T) {
	listed, begun, open := 0, make(chan struct{}), make(chan struct{})
	slow := backend{"slow", func() ([]*tool.Tool, error) {
		listed++ // the race detector says if two list at once
		close(begun)
		<-open
		return []*tool.Tool{newTool(t, "a:x@1.0.0", "x")}, nil
	}}
	c := catalog(t, nil, slow)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := c.Get(t.Context(), "a:x"); err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	close(open)
	wg.Wait()
	if listed != 1 {
		t.Errorf("it was listed %d times", listed)
	}
}

// A change that comes while a backend is listed is not lost under what that listing finds.
func TestChangeWhileListed(t *testing.T) {
	begun, open, times := make(chan struct{}), make(chan struct{}), 0
	changing := backend{"changing", func() ([]*tool.Tool, error) {
		if times++; times > 1 {
			return []*tool.Tool{newTool(t, "a:x@2.0.0", "new")}, nil
		}
		close(begun)
		<-open
		return []*tool.Tool{newTool(t, "a:x@1.0.0", "old")}, nil
	}}
	c := catalog(t, nil, changing)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _, _ = c.List(context.Background())
	}()
	<-begun
	c.Invalidate() // while the old one is on its way
	close(open)
	<-done
	if all, _, _ := c.List(t.Context()); ids(all) != "a:x@2.0.0" {
		t.Errorf("the stale listing stands: %s", ids(all))
	}
}

func TestFind(t *testing.T) {
	tools := local(t, "l", newTool(t, "desk:triage@1.0.0", "x", "tickets"), newTool(t, "desk:triage@2.0.0", "x"),
		newTool(t, "desk:reply@1.0.0", "x", "tickets", "mail"), newTool(t, "text:sum@1.0.0", "x"))
	other := newTool(t, "aaa:words@1.0.0", "x")
	other.Spec.Aliases = []string{"words", "theirs:words@1.0.0"}
	measured := toolcatalog.ScoresFunc(func(id tool.ID) map[string]float64 {
		return map[string]map[string]float64{
			"desk:triage@1.0.0": {"openai/a": 95, "openai/b": 79.9}, "desk:triage@2.0.0": {"openai/a": 60, "openai/b": 80},
			"text:sum@1.0.0": {"openai/a": 100}, "aaa:words@1.0.0": {"openai/own": 70},
			"theirs:words@1.0.0": {"openai/theirs": 90, "openai/own": 99},
		}[id.String()]
	})
	c := catalog(t, measured, tools)
	for _, test := range []struct {
		filter toolcatalog.Filter
		want   string
	}{
		{toolcatalog.Filter{}, "desk:reply@1.0.0 desk:triage@2.0.0 desk:triage@1.0.0 text:sum@1.0.0"},
		{toolcatalog.Filter{Namespace: "desk"}, "desk:reply@1.0.0 desk:triage@2.0.0 desk:triage@1.0.0"},
		{toolcatalog.Filter{Prefix: "desk:triage@1"}, "desk:triage@1.0.0"},
		{toolcatalog.Filter{Tag: "tickets"}, "desk:reply@1.0.0 desk:triage@1.0.0"},
		{toolcatalog.Filter{Tag: "ticket"}, ""},
		{toolcatalog.Filter{Model: "openai/a"}, "desk:triage@1.0.0 text:sum@1.0.0"},
		{toolcatalog.Filter{Model: "openai/a", MinScore: 60}, "desk:triage@2.0.0 desk:triage@1.0.0 text:sum@1.0.0"},
		{toolcatalog.Filter{Model: "openai/b"}, "desk:triage@2.0.0"},
		{toolcatalog.Filter{Model: "openai/b", Namespace: "text"}, ""},
		{toolcatalog.Filter{Model: "openai/unknown"}, ""},
	} {
		if got, err := c.Find(t.Context(), test.filter); err != nil || ids(got) != test.want {
			t.Errorf("%+v finds %s, %v; want %s", test.filter, ids(got), err, test.want)
		}
	}
	// What was measured under an alias holds, and the tool's own ID goes first.
	models, err := toolcatalog.ModelsFor(other, measured, 60)
	if err != nil || fmt.Sprint(models) != "[{openai/theirs 90} {openai/own 70}]" {
		t.Errorf("the models are %v, %v", models, err)
	}
	for _, bad := range []toolcatalog.Filter{
		{Model: "gpt"}, {Model: "openai/a", MinScore: 101}, {Model: "openai/a", MinScore: -1}, {MinScore: 50},
	} {
		if got, err := c.Find(t.Context(), bad); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%+v finds %s, %v", bad, ids(got), err)
		}
	}
}

// A filter by model where nothing was measured is an error, not all tools; and a catalog that
// measures from 0 to 1 is read on our scale.
func TestModelNeedsScores(t *testing.T) {
	x := newTool(t, "a:x@1.0.0", "x")
	without := catalog(t, nil, local(t, "l", x))
	if got, err := without.Find(t.Context(), toolcatalog.Filter{Model: "openai/a"}); tool.KindOf(err) != tool.Invalid {
		t.Errorf("without scores it finds %s, %v", ids(got), err)
	}
	if got, err := without.ModelsFor(t.Context(), "a:x", 0); tool.KindOf(err) != tool.Invalid {
		t.Errorf("without scores there are %v, %v", got, err)
	}
	unit := toolcatalog.OfUnit(toolcatalog.ScoresFunc(func(tool.ID) map[string]float64 {
		return map[string]float64{"openai/a": 0.85, "openai/b": 0.79, "openai/c": 1, "openai/d": 7, "openai/e": 0.85}
	}))
	c := catalog(t, unit, local(t, "l", x))
	for min, want := range map[float64]string{
		0: "[{openai/c 100} {openai/d 100} {openai/a 85} {openai/e 85}]", 79: "[{openai/c 100} {openai/d 100} {openai/a 85} " +
			"{openai/e 85} {openai/b 79}]", 100: "[{openai/c 100} {openai/d 100}]",
	} {
		if got, err := c.ModelsFor(t.Context(), "a:x@^1", min); err != nil || fmt.Sprint(got) != want {
			t.Errorf("at %v: %v, %v", min, got, err)
		}
	}
	if got, err := c.Find(t.Context(), toolcatalog.Filter{Model: "openai/b", MinScore: 79}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSearch(t *testing.T) {
	c := catalog(t, nil, local(t, "l",
		newTool(t, "desk:triage@1.0.0", "Says how urgent a ticket is.", "tickets"),
		newTool(t, "desk:triage_mail@1.0.0", "Sorts letters."),
		newTool(t, "desk:mail_triage@1.0.0", "Sorts mail."),
		newTool(t, "text:sum@1.0.0", "Sums up a long text for a triage.", "summary", "short text"),
		newTool(t, "text:sum@0.9.0", "Sums up."),
	))
	for _, test := range []struct {
		query toolcatalog.Query
		want  string
	}{
		{toolcatalog.Query{Text: " Triage "}, "desk.triage=100 desk.triage_mail=80 desk.mail_triage=60 text.sum=20"},
		{toolcatalog.Query{Text: "desk.triage"}, "desk.triage=100"},
		{toolcatalog.Query{Text: "tickets"}, "desk.triage=50"},
		{toolcatalog.Query{Text: "ticket"}, "desk.triage=40"},
		{toolcatalog.Query{Text: "short text"}, "text.sum=50"},
		{toolcatalog.Query{Text: "triage urgent"}, "desk.triage=60"},                        // 100 and 20
		{toolcatalog.Query{Text: "mail triage"}, "desk.mail_triage=70 desk.triage_mail=70"}, // 80 and 60
		{toolcatalog.Query{Text: "triage nothing"}, ""},
		{toolcatalog.Query{Text: "triage", Namespace: "text"}, "text.sum=20"},
		{toolcatalog.Query{Namespace: "text"}, "text.sum=0"}, // an empty query keeps to the namespace
		{toolcatalog.Query{Limit: 2}, "desk.mail_triage=0 desk.triage=0"},
		{toolcatalog.Query{Text: "triage", Limit: 1}, "desk.triage=100"},
	} {
		hits, err := c.Search(t.Context(), test.query)
		var got []string
		for _, h := range hits {
			got = append(got, fmt.Sprintf("%s=%v", h.Tool.ID.Dotted(), h.Score))
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v finds %v, %v; want %s", test.query, got, err, test.want)
		}
	}
	many := toolcatalog.NewLocal("many")
	for i := range 50 {
		if err := many.Register(newTool(t, fmt.Sprintf("m:t%d@1.0.0", i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	if hits, _ := catalog(t, nil, many).Search(t.Context(), toolcatalog.Query{}); len(hits) != toolcatalog.DefaultLimit {
		t.Errorf("%d hits without a limit", len(hits))
	}
}
