package consent_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/gate/policy"
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

func (a accepted) AcceptedLines(key string) ([]string, error) { return a[key], nil }

func (a accepted) AcceptLines(key string, lines []string, by string) error {
	if by == "" {
		return errors.New("nobody accepted it")
	}
	a[key] = lines
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
		{Name: "http", Credential: "per_user:TOKEN", Config: map[string]any{"headers": map[string]any{"X-Key": "{{secret.KEY}}"}}},
		{Name: "database", Setup: []app.Step{{Action: "connect", Params: map[string]any{"path": "x.db"}}}},
		{Name: "filesystem"},
	}
	a.Wider = []policy.Grant{{Module: "shell", Action: "bash", Text: "shell.bash"}}
	a.Programs = []app.Program{{Tool: "team.greet", Text: "run ./tools/greet as the tool team.greet"}}
	a.Servers = []app.Server{{Name: "hub", Tools: map[string]app.ServerTool{
		"merge": {Risk: tool.Low, SideEffect: tool.Read, Idempotent: true}, "drop": {Risk: tool.High}, "old": {Off: true},
	}}}
	a.Skills = []app.Skill{{Command: "release", Path: "/home/ada/skills/release.md", Content: "push"}}
	a.Files = []app.File{{Path: "/home/ada/agents/one.yaml", Digest: app.Digest("id: one")}}
	a.Runtime.Relaxed, a.Runtime.WorkdirMode, a.Runtime.Workdir = true, "fixed", ".."
	a.Runtime.Scheduler, a.Runtime.Watchers = &app.Scheduler{MaxJobs: 1}, true
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
		"let agents run shell.bash without asking you",
		`give the module http the secret TOKEN, KEY with config {"headers":{"X-Key":"{{secret.KEY}}"}}`,
		`call database.connect with {"path":"x.db"} whenever a session opens`,
		"send the texts of the tools, and searches, to https://search.example.com with the key {{secret.SEARCH}}",
		"run ./tools/greet as the tool team.greet",
		"treat the tool merge of the MCP server hub as of low risk, of the side effect read, safe to call twice",
		"work in the folder /home",
		"run programs without the parts of the sandbox that this machine lacks",
		"let agents have calls made later, also when nobody is there, each judged by the rules of its time",
		"let agents have calls made again and again, also when nobody is there, each judged by the rules of its time",
		"teach agents the skill release from ./skills/release.md (sha256 " + app.Digest("push")[:40] + ")",
		"take agents or prompts from ./agents/one.yaml (sha256 " + app.Digest("id: one")[:40] + ")",
		"send your conversations, and what tools answer in them, to https://summary.example.com",
		"send your conversations, and what tools answer in them, to " + elsewhere,
		"send your conversations, and what tools answer in them, to https://edge.example.com",
		"send your conversations, and what tools answer in them, to https://fallback.example.com",
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
			BaseURL: elsewhere, Credential: "KEY", DataSent: []string{"the header X"}}}, "with the header X, the secret KEY (one for all users)"},
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

const step = `call database.connect with {"path":"x.db"} whenever a session opens`

// A human accepts exactly what was shown.
func TestAccept(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	a := busy()
	shown := consents.Pending(a)
	if consents.Of(a).Has(step) || !strings.Contains(shown, "+ call database.connect") {
		t.Fatalf("before anybody accepted: %q", shown)
	}
	if err := consents.Accept(a, shown+" and more", "ada"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("something else was shown: %v", err)
	}
	if err := consents.Accept(a, "", "ada"); tool.KindOf(err) != tool.Conflict || consents.Of(a).Has(step) {
		t.Errorf("nothing was shown: %v", err)
	}
	if err := consents.Accept(a, shown, "ada"); err != nil || !consents.Of(a).Has(step) || consents.Pending(a) != "" {
		t.Errorf("accepted: %v %q", err, consents.Pending(a))
	}
	moved := busy()
	moved.Path = "/tmp/callgate.yaml"
	if consents.Of(moved).Has(step) {
		t.Error("another app file counts as accepted")
	}
	if err := consents.Revoke(a, "ada"); err != nil || consents.Of(a).Has(step) || consents.Pending(a) != shown {
		t.Errorf("taken back: %v %q", err, consents.Pending(a))
	}
}

// A changed file is asked about only for what changed.
func TestChange(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	a := busy()
	if err := consents.Accept(a, consents.Pending(a), "ada"); err != nil {
		t.Fatal(err)
	}
	lines := consent.Lines(a)
	changed := busy()
	changed.Modules[1].Setup[0].Params["path"] = "other\u202e.db"
	got := consents.Pending(changed)
	want := "+ call database.connect with {\"path\":\"other⟨U+202E⟩.db\"} whenever a session opens\n- " + step +
		fmt.Sprintf("\n= %d accepted before", len(lines)-1)
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, line := range consent.Lines(changed) {
		if has := consents.Of(changed).Has(line); has != slices.Contains(lines, line) {
			t.Errorf("accepted %v: %s", has, line)
		}
	}
	less := busy()
	less.Modules = less.Modules[:1]
	if consents.Pending(less) != "" {
		t.Errorf("asking for less is asked about: %s", consents.Pending(less))
	}
	if err := consents.Accept(changed, got, "ada"); err != nil || consents.Of(a).Has(step) {
		t.Errorf("what went is still accepted: %v", err)
	}
}

// Rules that let less run are not asked about again, and those that let more are.
func TestGrantWithExceptions(t *testing.T) {
	t.Parallel()
	a := &app.App{Path: "/home/ada/callgate.yaml"}
	grant := func(except ...string) []policy.Grant {
		return []policy.Grant{{Module: "*", Action: "*", Text: "every tool", Except: except}}
	}
	consents := consent.New(accepted{})
	a.Wider = grant("every tool of shell")
	if err := consents.Accept(a, consents.Pending(a), "ada"); err != nil {
		t.Fatal(err)
	}
	a.Wider = grant("fs.drop", "every tool of shell")
	if got := consents.Pending(a); got != "" {
		t.Errorf("less: %s", got)
	}
	a.Wider = grant("fs.drop")
	if got := consents.Pending(a); !strings.Contains(got, "+ let agents run every tool except fs.drop without asking you") {
		t.Errorf("the shell is no exception any more: %q", got)
	}
	a.Wider = grant()
	if consents.Pending(a) == "" {
		t.Error("nothing is an exception any more")
	}
}

// Until a human accepts it, an app's word on a server's tool can only narrow.
func TestServers(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	a := busy()
	tools := consents.Of(a).Servers(a)[0].Tools
	if m := tools["merge"]; m.Risk != "" || m.SideEffect != "" || m.Idempotent {
		t.Errorf("not accepted: %+v", m)
	}
	if tools["drop"].Risk != tool.High || !tools["old"].Off || a.Servers[0].Tools["merge"].Risk != tool.Low {
		t.Errorf("%+v", tools)
	}
	if err := consents.Accept(a, consents.Pending(a), "ada"); err != nil {
		t.Fatal(err)
	}
	if m := consents.Of(a).Servers(a)[0].Tools["merge"]; m.Risk != tool.Low || !m.Idempotent {
		t.Errorf("accepted: %+v", m)
	}
}

func TestNothingToAccept(t *testing.T) {
	t.Parallel()
	consents := consent.New(accepted{})
	quiet := &app.App{Path: "/home/ada/callgate.yaml", Modules: []app.Module{{Name: "filesystem"}}}
	if consents.Pending(quiet) != "" || consents.Pending(nil) != "" {
		t.Error("an app that asks for nothing waits for consent")
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
