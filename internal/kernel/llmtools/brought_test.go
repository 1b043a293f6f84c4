package llmtools_test

import (
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/llmtool"
	"callgate/tool"
	"callgate/toolcatalog"
)

// TestBroughtFromOutside calls LLM-backed tools that no app file has, of a backend and of an embedding
// program: where a model is must be accepted for them too, and the user's budget holds them.
func TestBroughtFromOutside(t *testing.T) {
	today := time.Now().Format(time.DateOnly)
	m := kerneltest.NewModel(t, kerneltest.Answer{Text: "yes", Usage: kerneltest.Usage{Input: 600_000, Output: 1}},
		kerneltest.Answer{Text: "no", Usage: kerneltest.Usage{Input: 1_500_000, Output: 1}})
	define := func(id string) *tool.Tool {
		made, err := llmtool.Define(llmtool.Definition{
			ID: id, Description: "Answers.", UserTemplate: "Well?", OutputFormat: llmtool.Text,
			ModelPreference: llmtool.Preference{Preferred: "openai/gpt-4o-mini"},
		})
		kerneltest.OK(t, err)
		return made
	}
	listed := toolcatalog.NewLocal("listed")
	kerneltest.OK(t, listed.Register(define("desk:listed@1.0.0")))
	workspace, userFile := t.TempDir(), filepath.Join(t.TempDir(), "callgate.yaml")
	kerneltest.Write(t, userFile, "budget: {tokens_per_day: 2000000}\n")
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"),
		"agents: [{id: main, brain: "+m.Brain("openai", "gpt-4o-mini")+"}]\n")
	k := kerneltest.OpenWith(t, kernel.Config{
		State: kerneltest.StateDir(t), UserFile: userFile,
		Backends: []toolcatalog.Backend{listed}, Tools: []*tool.Tool{define("office:given@1.0.0")},
	})
	names := []string{"desk.listed", "office.given"}
	s := kerneltest.OpenSession(t, k, workspace)
	for _, name := range names {
		if r := kerneltest.Call(t, s, name, `{}`); r.Error == nil || len(m.Asked()) != 0 {
			t.Errorf("%s before the endpoint was accepted: %+v after %d requests", name, r, len(m.Asked()))
		}
	}
	s = kerneltest.OpenAccepted(t, k, workspace)
	for _, name := range names {
		if r := kerneltest.Call(t, s, name, `{}`); r.Status != tool.Success {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, name := range names {
		r := kerneltest.Call(t, s, name, `{}`)
		if time.Now().Format(time.DateOnly) != today {
			t.Skip("the day is over")
		}
		if r.Error == nil || r.Error.Kind != tool.Limited || len(m.Asked()) != 2 {
			t.Errorf("%s over the budget: %+v after %d requests", name, r, len(m.Asked()))
		}
	}
}
