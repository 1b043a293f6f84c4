package consent_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/internal/provider"
	"callgate/tool"
)

// An address in the environment replaces that of an app file, so no test may
// have one.
func TestMain(m *testing.M) {
	if err := os.Unsetenv(provider.BaseURLVariable("openai")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// accepted is a store in memory.
type accepted map[string][]string

func (a accepted) MayLaunch(key string, line []string) error {
	if slices.Equal(a[key], line) {
		return nil
	}
	return errors.New("not accepted")
}

func (a accepted) AcceptLaunch(key string, line []string, by string) error {
	if by == "" {
		return errors.New("nobody accepted it")
	}
	a[key] = line
	return nil
}

const elsewhere = "https://models.example.com/v1"

func model(name, url string) *app.Model {
	return &app.Model{Provider: "openai", Name: name, Connection: app.Connection{BaseURL: url}}
}

// busy is an app that does everything by itself that an app can.
func busy() *app.App {
	summary := model("summary", "https://summary.example.com")
	edge := model("edge", "https://edge.example.com")
	edge.Fallback = model("fallback", "https://fallback.example.com")
	a := &app.App{Path: "/home/ada/callgate.yaml"}
	a.Modules = []app.Module{
		{Name: "http", Credential: "TOKEN", Config: map[string]any{"headers": map[string]any{"X-Key": "{{secret.KEY}}"}}},
		{Name: "database", Setup: []app.Step{{Action: "connect", Params: map[string]any{"path": "x.db"}}}},
		{Name: "filesystem"},
	}
	a.Search.Endpoint = app.Endpoint{URL: "https://search.example.com", Key: "{{secret.SEARCH}}"}
	a.Runtime.Context.SummaryModel = summary
	a.Agents = []app.Agent{
		{ID: "one", Model: model("m", elsewhere), Lanes: map[string]*app.Model{app.EdgeLane: edge}},
		{ID: "two", Model: model("other", elsewhere)}, // the same address is shown once
	}
	return a
}

func TestLines(t *testing.T) {
	t.Parallel()
	want := []string{
		`give the module http the secret TOKEN, KEY with config {"headers":{"X-Key":"{{secret.KEY}}"}}`,
		`call database.connect with {"path":"x.db"} whenever a session opens`,
		"send the texts of the tools, and searches, to https://search.example.com with the key {{secret.SEARCH}}",
		"send conversations, and what tools answer in them, to https://summary.example.com",
		"send conversations, and what tools answer in them, to " + elsewhere,
		"send conversations, and what tools answer in them, to https://edge.example.com",
		"send conversations, and what tools answer in them, to https://fallback.example.com",
	}
	got := consent.Lines(busy())
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := consent.Lines(&app.App{}); len(got) > 0 {
		t.Errorf("an app that does nothing by itself: %v", got)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		m    app.Model
		want string // a part of it; empty: no consent is needed
	}{
		{"the usual address", app.Model{Provider: "openai"}, ""},
		{"the usual address, written", app.Model{Provider: "openai", Connection: app.Connection{BaseURL: "https://api.openai.com/v1/"}}, ""},
		{"offline", app.Model{Provider: app.Offline, Connection: app.Connection{BaseURL: elsewhere}}, ""},
		{"elsewhere", app.Model{Provider: "openai", Connection: app.Connection{BaseURL: elsewhere}}, "to " + elsewhere},
		{"a provider that nobody knows", app.Model{Provider: "mine", Connection: app.Connection{BaseURL: elsewhere}}, "to " + elsewhere},
		{"with a secret", app.Model{Provider: "openai", Connection: app.Connection{
			BaseURL: elsewhere, Credential: "KEY", DataSent: []string{"the header X"}}}, "with the header X, the secret KEY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := consent.Endpoint(&app.App{}, &tt.m)
			if (got == "") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A human accepts exactly what was shown; any change asks again.
func TestAccept(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	a := busy()
	shown := consents.Pending(a)
	if consents.Accepted(a) || !strings.Contains(shown, "call database.connect") {
		t.Fatalf("before anybody accepted: %q", shown)
	}
	if err := consents.Accept(a, shown+" and more", "ada"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("something else was shown: %v", err)
	}
	if err := consents.Accept(a, "", "ada"); tool.KindOf(err) != tool.Conflict || consents.Accepted(a) {
		t.Errorf("nothing was shown: %v", err)
	}
	if err := consents.Accept(a, shown, "ada"); err != nil || !consents.Accepted(a) || consents.Pending(a) != "" {
		t.Errorf("accepted: %v %q", err, consents.Pending(a))
	}
	changed := busy()
	changed.Modules[1].Setup[0].Params["path"] = "other.db"
	if consents.Accepted(changed) || consents.Pending(changed) == "" {
		t.Error("a changed step counts as accepted")
	}
	moved := busy()
	moved.Path = "/tmp/callgate.yaml"
	if consents.Accepted(moved) {
		t.Error("another app file counts as accepted")
	}
}

func TestNothingToAccept(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	quiet := &app.App{Path: "/home/ada/callgate.yaml", Modules: []app.Module{{Name: "filesystem"}}}
	if !consents.Accepted(quiet) || consents.Pending(quiet) != "" || consents.Pending(nil) != "" {
		t.Error("an app that does nothing by itself waits for consent")
	}
	if err := consents.Accept(nil, "", "ada"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("no app: %v", err)
	}
	if err := consents.Accept(quiet, "", "ada"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("nothing to accept: %v", err)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	a := busy()
	var names []string
	for _, m := range consent.Models(a, a.Agents[0]) {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "m edge fallback summary" {
		t.Errorf("got %s", got)
	}
	if got := consent.Models(nil, app.Agent{}); len(got) > 0 {
		t.Errorf("the offline model: %v", got)
	}
}

func TestNeeded(t *testing.T) {
	t.Parallel()
	err := consent.Needed("op", "call database.connect {}")
	if err.Kind != tool.Denied || !strings.Contains(err.Error(), "call database.connect {}") ||
		!strings.Contains(err.Hint, "callgate app trust") {
		t.Errorf("got %v", err)
	}
}
