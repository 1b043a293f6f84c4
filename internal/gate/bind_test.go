package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/internal/journal/outputbus"
	"callgate/tool"
)

// What a call claims may depend on what it says it does.
func TestEffectsThatDependOnTheCall(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	r := writes
	r.Effects = []tool.Effect{
		{Resource: "workspace", Mode: tool.U, Unless: []string{"writes", "reads_only"}},
		{Resource: "workspace", Mode: tool.S, When: "reads_only"},
		{Resource: "file:{writes}", Mode: tool.U},
		{Resource: "db:{name}/{table}", Mode: tool.X},
	}
	var got []tool.Claim
	h.add(t, "t:shell@1.0.0", `{"type":"object"}`, r, func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
		got = g.Claims
		return tool.OK("ok", nil)
	})
	w := "file:" + h.at.Workspace
	for args, want := range map[string]string{
		`{}`:                                   "U " + w,
		`{"reads_only":false}`:                 "U " + w,
		`{"reads_only":null,"writes":[]}`:      "U " + w,
		`{"reads_only":true}`:                  "S " + w,
		`{"writes":["a","b/c"]}`:               "U " + w + "/a, U " + w + "/b/c",
		`{"reads_only":true,"writes":["a"]}`:   "S " + w + ", U " + w + "/a",
		`{"name":"x/y","table":"t"}`:           "U " + w + ", X db:x%2Fy/t",
		`{"name":["m","n"],"table":["t","u"]}`: "U " + w + ", X db:m/t, X db:m/u, X db:n/t, X db:n/u",
		`{"name":"x"}`:                         "U " + w,
	} {
		got = nil
		if res := h.call(t, "t.shell", args); res.Status != tool.Success {
			t.Errorf("%s: %s", args, res.Summary)
		}
		var claims []string
		for _, c := range got {
			claims = append(claims, fmt.Sprintf("%s %s", c.Mode, c.Resource))
		}
		if strings.Join(claims, ", ") != want {
			t.Errorf("%s claims %v, want %s", args, claims, want)
		}
	}
	for _, hostile := range []string{`{"Reads_Only":true}`, `{"WRITES":["a"]}`, `{"writes":["../x"]}`, `{"writes":["a\u0000b"]}`} {
		if res := h.call(t, "t.shell", hostile); res.Status == tool.Success {
			t.Errorf("%s passed, and claimed %v", hostile, got)
		}
	}
}

// A call that runs for long lets its locks go, and the journal says so.
func TestLockFor(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	release := make(chan struct{})
	long, short := writes, writes
	long.Effects = []tool.Effect{{Resource: "workspace", Mode: tool.X}}
	long.LockFor = time.Millisecond
	short.Effects = long.Effects
	h.add(t, "t:long@1.0.0", anyObject, long, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
		<-release
		return tool.OK("at last", nil)
	})
	h.add(t, "t:short@1.0.0", anyObject, short, says("done"))
	done := make(chan *tool.Result)
	go func() { done <- h.call(t, "t.long", `{}`) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for r, err := range h.Journal.Follow(ctx, 0) { // until the journal tells that the locks are gone
		ok(t, err)
		if r.Kind == journal.Noted {
			break
		}
	}
	if r := h.call(t, "t.short", `{}`); r.Status != tool.Success {
		t.Errorf("while the long one runs on: %s", r.Summary)
	}
	close(release)
	r := <-done
	if r.Status != tool.Success {
		t.Errorf("the long one: %s", r.Summary)
	}
	if got := h.story(t, r.Call); got != "asked allow, begun, noted, ended success" {
		t.Errorf("story %q", got)
	}
}

// What a call prints is passed on while it runs, without its secrets.
func TestLiveOutput(t *testing.T) {
	t.Setenv("LIVE_TEST_TOKEN", "hush-hush-hush")
	h := open(t, gate.Limits{})
	config := h.Config
	config.Output = &outputbus.Bus{}
	h.Gate = gate.New(config)
	heard := h.Output.Subscribe(t.Context())
	h.add(t, "t:talk@1.0.0", anyObject, reads, func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
		g.Output("stdout", []byte("the token is hush-hush-hush"))
		return tool.OK("said", nil)
	})
	r := h.Call(t.Context(), h.caller(), gate.CallRequest{Name: "t.talk", Args: json.RawMessage(`{}`)})
	out := heard.Take()
	if len(out) != 1 || out[0].Call != r.Call || string(out[0].Text) != "the token is [secret LIVE_TEST_TOKEN]" {
		t.Errorf("heard %+v", out)
	}
}

// A repository is a place, too: however it is written, it is one lock.
func TestRepositoriesHaveOneName(t *testing.T) {
	t.Parallel()
	h := open(t, gate.Limits{})
	r := writes
	r.Effects = []tool.Effect{{Resource: "repo:.", Mode: tool.X, Unless: []string{"repo"}}, {Resource: "repo:{repo}", Mode: tool.X}}
	var claims []tool.Claim
	h.add(
		t,
		"t:commit@1.0.0",
		`{"type":"object","properties":{"repo":{"type":"string"}}}`,
		r,
		func(_ context.Context, _ tool.Call, g tool.Grant) (*tool.Result, error) {
			claims = append(claims, g.Claims...)
			return tool.OK("ok", nil)
		},
	)
	for _, args := range []string{`{}`, `{"repo":"."}`, `{"repo":"sub/.."}`, `{"repo":"` + h.at.Workspace + `"}`} {
		h.call(t, "t.commit", args)
	}
	for _, c := range claims {
		if len(claims) != 4 || c != claims[0] || !strings.HasPrefix(c.Resource, "repo:") ||
			!strings.Contains(c.Resource, filepath.Base(h.at.Workspace)) {
			t.Fatalf("%+v", claims)
		}
	}
}
