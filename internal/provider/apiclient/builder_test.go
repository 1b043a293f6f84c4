package apiclient_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/provider/apiclient"
	"callgate/llm"
)

func TestBuilder(t *testing.T) {
	t.Parallel()
	var deltas []llm.Delta
	b := apiclient.NewResponseBuilder(func(d llm.Delta) { deltas = append(deltas, d) })
	if b.Started() || b.Partial() != nil {
		t.Error("an empty response has started")
	}
	b.BeginReasoning(llm.Reasoning{Provider: "p", Model: "m"})
	b.AddReasoning("p", "hm")
	b.AddSignature("p", "sig")
	b.Text("a")
	b.Text("")
	b.Text("b")
	second := b.Call(1, "c2", "two")
	first := b.Call(0, "c1", "one")
	b.Args(second, `{"x":`)
	b.Args(first, `{}`)
	b.Args(second, `1}`)
	b.End(first)
	b.Args(first, "too late")
	b.Usage = llm.Usage{Input: 1, Output: 2}
	if p := b.Partial(); len(p.Message.Calls()) != 0 || p.Message.Text() != "ab" {
		t.Errorf("partial %+v: want the text, and no half calls", p.Message)
	}
	got := b.Finish(llm.StopEnd)
	want := &llm.Response{Stop: llm.StopTools, Usage: llm.Usage{Input: 1, Output: 2}}
	want.Message = llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		{Reasoning: &llm.Reasoning{Provider: "p", Model: "m", Text: "hm", Signature: "sig"}},
		{Text: "ab"},
		{Call: &llm.ToolCall{ID: "c1", Name: "one", Args: json.RawMessage(`{}`)}},
		{Call: &llm.ToolCall{ID: "c2", Name: "two", Args: json.RawMessage(`{"x":1}`)}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var kinds []string
	for _, d := range deltas {
		kinds = append(kinds, string(d.Kind))
	}
	const wantKinds = "reasoning text text call call args args args call_end call_end usage end"
	if got := strings.Join(kinds, " "); got != wantKinds {
		t.Errorf("deltas %s\nwant   %s", got, wantKinds)
	}
}

func TestBuilderGivesIDs(t *testing.T) {
	t.Parallel()
	b := apiclient.NewResponseBuilder(nil)
	b.Call(0, "", "a")
	b.Call(0, "", "a")
	calls := b.Finish(llm.StopTools).Message.Calls()
	if calls[0].ID == "" || calls[0].ID == calls[1].ID {
		t.Errorf("ids %q and %q", calls[0].ID, calls[1].ID)
	}
}

// TestBuilderHoldsWhatItWasGiven: what a response takes while it grows is its text, not
// the text several times.
func TestBuilderHoldsWhatItWasGiven(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for _, kind := range []string{"text", "args", "reasoning", "signature"} {
		b := apiclient.NewResponseBuilder(nil)
		call := b.Call(0, "c", "n")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for !b.TooLong() {
			switch kind {
			case "text":
				b.Text(text)
			case "args":
				b.Args(call, text)
			case "reasoning":
				b.AddReasoning("p", text)
			case "signature":
				b.AddSignature("p", text)
			}
		}
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		if took > apiclient.MaxResponse*5/4 {
			t.Errorf("%s: %d MiB were allocated for %d MiB", kind, took>>20, apiclient.MaxResponse>>20)
		}
	}
}
