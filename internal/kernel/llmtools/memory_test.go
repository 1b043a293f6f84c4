package llmtools_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/modeluse"
	"callgate/tool"
)

// rememberMany has a session of an app remember facts, of which the first four are old.
func rememberMany(t *testing.T, brain, llm string) *kernelSession {
	t.Helper()
	workspace := t.TempDir()
	if brain != "" {
		kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"),
			"tools:\n  capabilities: {default_policy: auto}\n  modules: {memory: {}}\n"+llm+
				"agents: [{id: main, brain: "+brain+"}]\n")
	}
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	for i := range 24 {
		if r := kerneltest.Call(t, s, "memory.remember", fmt.Sprintf(`{"content": "fact %d"}`, i)); r.Status != tool.Success {
			t.Fatalf("%+v", r)
		}
	}
	return &kernelSession{k, s}
}

// remembered is what a session remembers.
func remembered(t *testing.T, s *session.Session) string {
	t.Helper()
	r := kerneltest.Call(t, s, "memory.query", `{"mode": "range", "tiers": ["working"], "limit": 50}`)
	return string(r.Data)
}

// TestMemorySumsUp has memory.compact make one fact of the old ones, with the built-in definition: the app's own
// model is asked, or the one that the app names for the tool. What that took is on record.
func TestMemorySumsUp(t *testing.T) {
	for name, test := range map[string]struct{ llm, model string }{
		"own":       {"", "openai/gpt-4o-mini"},
		"turned on": {"  llm: {builtins: {summarize: {preferred: openai/gpt-4.1}}}\n", "openai/gpt-4.1"},
	} {
		t.Run(name, func(t *testing.T) {
			m := kerneltest.NewModel(t, kerneltest.Answer{Text: `{"summary": "Four facts.", "keyPoints": ["fact 3"]}`})
			s := rememberMany(t, m.Brain("openai", "gpt-4o-mini"), test.llm)
			r := kerneltest.Call(t, s.Session, "memory.compact", `{}`)
			if r.Status != tool.Success || !strings.Contains(r.Summary, "the summary took in 4 facts") || len(r.Warnings) > 0 {
				t.Fatalf("the result is %+v", r)
			}
			if got := remembered(t, s.Session); !strings.Contains(got, `Four facts.\n- fact 3`) ||
				strings.Contains(got, `"fact 1"`) || !strings.Contains(got, `"fact 4"`) {
				t.Errorf("remembered is %s", got)
			}
			if asked := m.Last(); !strings.Contains(asked, "fact 0") || strings.Contains(asked, "fact 4") {
				t.Errorf("asked was %s", asked)
			}
			kerneltest.OK(t, s.Kernel.Journal.Flush(t.Context()))
			rows, err := modeluse.Collect(t.Context(), s.Kernel.Journal, modeluse.Query{Tool: "memory.compact"})
			kerneltest.OK(t, err)
			if len(rows) != 1 || rows[0].Model != test.model || rows[0].Input != 100 || rows[0].Cost == 0 {
				t.Errorf("on record is %+v", rows)
			}
		})
	}
}

// TestMemoryWithoutAModel keeps the facts, and says why.
func TestMemoryWithoutAModel(t *testing.T) {
	for name, test := range map[string]struct{ brain, want string }{
		"offline": {"{provider: offline}", "the offline brain is no language model"},
		"no app":  {"", "can be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			s := rememberMany(t, test.brain, "")
			r := kerneltest.Call(t, s.Session, "memory.compact", `{}`)
			warned := strings.Join(r.Warnings, " ")
			if r.Status != tool.Success || len(r.Attempts) > 0 || !strings.Contains(warned, "4 oldest facts are kept") ||
				!strings.Contains(warned, test.want) {
				t.Errorf("the result is %+v", r)
			}
			if got := remembered(t, s.Session); !strings.Contains(got, `"fact 0"`) {
				t.Errorf("remembered is %s", got)
			}
		})
	}
}
