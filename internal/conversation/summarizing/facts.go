package summarizing

import (
	"context"
	"encoding/json"

	"callgate/internal/conversation/compact"
	"callgate/internal/gate"
	"callgate/internal/source/prompted/builtin"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// Remembering is a [compact.Summarizer] that also has the facts of what goes remembered: it finds them
// with the built-in definition, and stores each by a call of the memory module. The summary does not
// depend on that: where no facts can be had, or the rules refuse the calls, there is a summary without.
type Remembering struct {
	Model
	// Call makes calls in the session of the conversation.
	Call func(ctx context.Context, calls []gate.CallRequest, done func(int, *tool.Result)) []*tool.Result
	// Check is what all texts of models pass, which may change or refuse one; nil: nothing is checked.
	Check func(text string) (string, error)
}

var _ compact.Summarizer = Remembering{}

const (
	mostFacts   = 20   // of one stretch of a conversation
	factsTokens = 2000 // of the model's answer
	rememberBy  = "memory.remember"
)

// Summarize asks for a summary, and then for facts.
func (r Remembering) Summarize(ctx context.Context, s compact.SummaryRequest) (compact.SummaryResult, error) {
	made, err := r.Model.Summarize(ctx, s)
	if err != nil {
		return made, err
	}
	facts, usage := r.facts(ctx, s.Messages)
	made.Usage = made.Usage.Add(usage)
	var calls []gate.CallRequest
	for _, f := range facts {
		if args, ok := r.arguments(f); ok {
			// Nobody waits for these: where a human would have to be asked, they are refused.
			calls = append(calls, gate.CallRequest{Name: rememberBy, Args: args, Unattended: true})
		}
	}
	if len(calls) > 0 {
		r.Call(ctx, calls, nil) // what became of them is on record
	}
	return made, nil
}

// arguments writes a fact as the memory module takes it.
func (r Remembering) arguments(f builtin.Fact) (json.RawMessage, bool) {
	text := tool.TruncateTo(f.Key+": "+f.Value, 1000)
	if r.Check != nil {
		var err error
		if text, err = r.Check(text); err != nil {
			return nil, false
		}
	}
	args, err := json.Marshal(map[string]string{"content": text})
	return args, err == nil
}

// facts asks for the facts of messages, and says what that took.
func (r Remembering) facts(ctx context.Context, messages []llm.Message) ([]builtin.Fact, llm.Usage) {
	d := builtin.FactExtract()
	d.ModelPreference = llmtool.Preference{MaxTokens: factsTokens}
	tokens := r.window() - 2*factsTokens - count(d.SystemPrompt) - count(string(d.OutputSchema)) - 500
	asked := &one{Model: r.Model, most: 2 * factsTokens}
	args, err := json.Marshal(map[string]any{
		"content": compact.Transcript(messages, max(tokens, 500)*3), "maxFacts": mostFacts,
	})
	if err != nil {
		return nil, llm.Usage{}
	}
	result, err := asked.run(ctx, d, args)
	var found struct {
		Facts []builtin.Fact `json:"facts"`
	}
	if err != nil || result.Err() != nil || json.Unmarshal(result.Data, &found) != nil {
		return nil, asked.usage
	}
	return found.Facts, asked.usage
}
