// Package summarizing writes the summaries of compaction. Law: a summary is what the built-in
// definition asks of one model, by the rules of every LLM-backed tool: one that was cut off or
// refused is none, and what each request took is counted, and on record as those of LLM-backed tools
// are. Facts are remembered only where the app says so, by calls through the gate.
package summarizing

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"callgate/internal/conversation/compact"
	"callgate/internal/source/prompted"
	"callgate/internal/source/prompted/builtin"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// Model is a [compact.Summarizer] that asks a model.
type Model struct {
	Model    llm.Model
	Settings llm.Request // what every request has
	Window   int         // tokens that the model reads and writes; 0: not known

	Name   string         // provider/model, as it is on record; "": it is not known
	By     tool.Principal // whose conversation it is
	Record Record         // may be nil
}

var _ compact.Summarizer = Model{}

const (
	unknownWindow = 32_000 // taken for a model of which nothing is known
	roomy         = 16_000 // tokens of a window from which a summary that was cut off gets more room
)

// Summarize asks for a summary.
func (m Model) Summarize(ctx context.Context, s compact.SummaryRequest) (compact.SummaryResult, error) {
	d := builtin.Conversation()
	window := m.window()
	d.ModelPreference.MaxTokens = max(3*s.MaxTokens, 1024) // some think before they write
	most := d.ModelPreference.MaxTokens
	if window >= roomy {
		most *= 2
	}
	tokens := window - most - count(d.SystemPrompt) - count(s.Earlier) - 500
	args, err := json.Marshal(map[string]any{
		"earlier":      s.Earlier,
		"conversation": compact.Transcript(s.Messages, max(tokens, 500)*3), // bytes, with some to spare
		"words":        max(s.MaxTokens*3/5, 40),
	})
	if err != nil {
		return compact.SummaryResult{}, err
	}
	asked := &one{Model: m, most: most}
	result, err := asked.run(ctx, d, args)
	if err == nil {
		err = result.Err()
	}
	if err != nil {
		return compact.SummaryResult{Usage: asked.usage, Model: asked.answered}, err
	}
	return compact.SummaryResult{Text: result.Content[0].Text, Usage: asked.usage, Model: asked.answered}, nil
}

// window is the model's own, or what is taken for it.
func (m Model) window() int {
	if m.Window <= 0 {
		return unknownWindow
	}
	return m.Window
}

// count estimates the tokens of a text.
func count(text string) int { return (len(text) + 3) / 4 }

// one is the one model that is asked for a summary.
type one struct {
	Model
	most     int // tokens that it may write
	usage    llm.Usage
	answered string // the model's name for itself
}

var (
	_ prompted.Models = (*one)(nil)
	_ llm.Model       = (*one)(nil)
)

// run has the model do the work of a definition, and puts that on record.
func (o *one) run(ctx context.Context, d llmtool.Definition, args json.RawMessage) (*tool.Result, error) {
	began := time.Now()
	result, err := new(prompted.Runner).Run(ctx, d, args, o)
	if o.Record != nil {
		o.Record(o.By, d, time.Since(began), result)
	}
	return result, err
}

// Generate sends a request with the settings of the model.
func (o *one) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	sent := o.Settings
	sent.System, sent.Messages, sent.MaxTokens, sent.Output = req.System, req.Messages, req.MaxTokens, req.Output
	sent.Tools, sent.ToolChoice, sent.CacheKey, sent.NoCache = nil, "", "", true
	answer, err := o.Model.Model.Generate(ctx, sent, watch)
	if answer != nil {
		o.answered, o.usage = answer.Model, o.usage.Add(answer.Usage)
	}
	return answer, err
}

// Open returns the model.
func (o *one) Open(context.Context, string) (prompted.Opened, error) {
	target := llmtool.Target{Provider: "own", Model: "model", Count: count}
	return prompted.Opened{Model: o, MaxOutput: o.most, Target: target}, nil
}

// Recommended returns none.
func (o *one) Recommended(tool.ID) []string { return nil }

// Default is the model.
func (o *one) Default() string { return cmp.Or(o.Name, "own/model") }

// Limits are those of the compaction.
func (o *one) Limits() prompted.Limits { return prompted.Limits{} }

// Choose is not asked: no call chooses.
func (o *one) Choose(string) error { return nil }
