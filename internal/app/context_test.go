package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
)

func TestContext(t *testing.T) {
	a := parsed(t, `
runtime:
  context:
    max_tokens: 64000
    output_reserved: 2000
    strategy: summarize
    keep_recent: 6
    compression_trigger: 0.6
    summary_max_tokens: 500
    auto_compact: false
    remember_facts: true
    summary_brain: {provider: ollama, model: small, context: {max_tokens: 8000}}
agents:
- id: plain
  brain: {provider: offline}
- id: own
  brain: {provider: openai, model: x, context: {max_tokens: 9000, strategy: truncate, auto_compact: true}}
- id: summed
  brain: {provider: openai, model: x, context: {summary_brain: {provider: ollama, model: y}}}
`)
	yes, no := true, false
	small := &app.Model{Provider: "ollama", Name: "small", Window: 8000}
	all := app.Context{
		OutputReserved:   2000,
		Strategy:         "summarize",
		KeepRecent:       6,
		Trigger:          0.6,
		SummaryMaxTokens: 500,
		Auto:             &no,
		SummaryModel:     small,
		RememberFacts:    &yes,
	}
	if diff := cmp.Diff(all, a.Runtime.Context); diff != "" || a.Surface.Window != 64000 {
		t.Errorf("%s, window %d", diff, a.Surface.Window)
	}
	if plain := a.Agents[0].Model.Context; plain != (app.Context{}) || plain.Over(all) != all {
		t.Errorf("%+v", plain)
	}
	own := a.Agents[1].Model
	want := all
	want.Strategy, want.Auto = "truncate", &yes
	if diff := cmp.Diff(want, own.Context.Over(all)); diff != "" || own.Window != 9000 {
		t.Errorf("%s, window %d", diff, own.Window)
	}
	if diff := cmp.Diff(app.Context{Strategy: "summarize", SummaryModel: &app.Model{Provider: "ollama", Name: "y"}}, a.Agents[2].Model.Context); diff != "" {
		t.Error(diff)
	}
}
