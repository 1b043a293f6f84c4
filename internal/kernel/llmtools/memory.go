package llmtools

import (
	"context"
	"encoding/json"
	"strings"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/internal/module/memory"
	"callgate/internal/source/prompted"
	"callgate/internal/source/prompted/builtin"
	"callgate/llmtool"
	"callgate/tool"
)

// ForMemory has the memory module sum facts up with the built-in definition. Where the app turns that tool on,
// and a human accepted it, the models that it asks are asked, else the app's own.
func (o Options) ForMemory(appOf func(session string) (*app.App, error)) memory.Config {
	return memory.Config{Summarizer: &summarizer{Options: o, appOf: appOf, runner: New(o)}}
}

// summarizer sums texts up with language models.
type summarizer struct {
	Options
	appOf  func(session string) (*app.App, error)
	runner *prompted.Runner
}

var _ memory.Summarizer = (*summarizer)(nil)

// mostOfAFact is how long the summary of facts may be, in characters.
const mostOfAFact = 4000

// Summarize has a model make one text of several.
func (s *summarizer) Summarize(ctx context.Context, call tool.Call, texts []string) (memory.Summary, error) {
	a, err := s.appOf(call.Principal.Session)
	if err != nil {
		return memory.Summary{}, err
	}
	if a == nil {
		a = &app.App{}
	}
	d := builtin.Summarize()
	call.Tool, err = tool.ParseID(d.ID)
	if err != nil {
		return memory.Summary{}, err
	}
	m := &models{Options: s.Options, app: a, call: call, known: consent.AppModels(a, call.Principal.Agent), ownOnly: true}
	for _, t := range a.LLM.Tools {
		if t.Builtin && t.ID == call.Tool && s.Line(a, consent.LLMTool(a, t)) == nil {
			d, m.ownOnly = t.Definition, false
		}
	}
	args, err := json.Marshal(map[string]any{
		"content": "- " + strings.Join(texts, "\n- "), "maxLength": mostOfAFact,
		"focus": "These are facts that an agent remembers. Keep every one that is still true; of two that contradict " +
			"each other the later one is.",
	})
	if err != nil {
		return memory.Summary{}, err
	}
	r, err := s.runner.Run(ctx, d, args, understanding{m})
	if err != nil {
		return memory.Summary{}, err
	}
	made := memory.Summary{Attempts: r.Attempts}
	if err := r.Err(); err != nil {
		return made, err
	}
	var out struct {
		Summary   string   `json:"summary"`
		KeyPoints []string `json:"keyPoints"`
	}
	if err := json.Unmarshal(r.Data, &out); err != nil {
		return made, err
	}
	made.Text = out.Summary
	for _, point := range out.KeyPoints {
		made.Text += "\n- " + point
	}
	return made, nil
}

// understanding are models without the offline one, which gives the form of an answer and no meaning.
type understanding struct{ *models }

// Open returns a model by its name.
func (u understanding) Open(ctx context.Context, name string) (prompted.Opened, error) {
	if provider, _, err := llmtool.SplitModel(name); err == nil && provider == app.Offline {
		return prompted.Opened{}, tool.Errorf("llmtools.Open", tool.Unavailable,
			"the offline brain is no language model, and sums nothing up").
			WithHint("give an agent of the app a brain in callgate.yaml")
	}
	return u.models.Open(ctx, name)
}
