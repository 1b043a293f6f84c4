package llmtools_test

import (
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// TestLimitsOfAProvider holds LLM-backed tools to the limits of their app, and says which of its
// limits limit nothing.
func TestLimitsOfAProvider(t *testing.T) {
	first := kerneltest.NewModel(t, kerneltest.Answer{Text: `{"urgent": true}`})
	second := kerneltest.NewModel(t, kerneltest.Answer{Text: `{"urgent": false}`})
	s, _ := open(t, first, second, chain+
		"providers: {openai: {rpm: 1, max_wait: 100ms}, antropic: {rpm: 1}}\n")
	if r := kerneltest.Call(t, s.Session, "acme.triage", `{"ticket": "x"}`); string(r.Data) != `{"urgent": true}` {
		t.Fatalf("the result is %+v", r)
	}
	r := kerneltest.Call(t, s.Session, "acme.triage", `{"ticket": "x"}`)
	if string(r.Data) != `{"urgent": false}` || len(r.Attempts) != 2 || r.Attempts[0].Outcome != "limited" {
		t.Errorf("the result is %+v", r)
	}
	if a := r.Attempts[0]; !strings.Contains(a.Error, "its turn had not come after 100ms") || len(first.Asked()) != 1 {
		t.Errorf("the attempt is %+v after %d requests", a, len(first.Asked()))
	}
	warnings := strings.Join(s.Loaded().Warnings, "\n")
	if !strings.Contains(warnings, `called "antropic"`) || !strings.Contains(warnings, "did you mean anthropic?") {
		t.Errorf("the warnings are %q", warnings)
	}
	if r := kerneltest.Call(t, s.Session, "acme.triage", `{}`); r.Error == nil || r.Error.Kind != tool.Invalid {
		t.Errorf("a mistake waits for nothing: %+v", r)
	}
}
