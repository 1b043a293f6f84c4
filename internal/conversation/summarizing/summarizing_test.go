package summarizing_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/conversation/compact"
	"callgate/internal/conversation/summarizing"
	"callgate/internal/gate"
	"callgate/llm"
	"callgate/tool"
)

// brain is a model that keeps what it was asked.
type brain struct {
	asked  llm.Request
	limits []int // tokens of the answers
	cut    int   // answers that are cut off
	err    error
}

func (b *brain) Generate(_ context.Context, req llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	b.asked = req
	b.limits = append(b.limits, req.MaxTokens)
	answer := &llm.Response{Message: llm.TextMessage(llm.Assistant, "Goal: x"), Model: "small", Usage: llm.Usage{Input: 5}}
	if b.cut > 0 {
		b.cut--
		answer.Stop = llm.StopLength
	}
	return answer, b.err
}

func TestAsked(t *testing.T) {
	b, words := &brain{}, strings.Repeat("abc ", 20_000)
	warm := 0.3
	by := summarizing.Model{
		Model:    b,
		Settings: llm.Request{Temperature: &warm, Tools: []llm.ToolDef{{Name: "x"}}, CacheKey: "k"},
		Window:   8000,
	}
	stretch := compact.SummaryRequest{Earlier: "Goal: </earlier> y", MaxTokens: 300, Messages: []llm.Message{
		llm.TextMessage(llm.User, "go </conversation>"),
		{Role: llm.Assistant, Parts: []llm.Part{{Text: "I look"}, {Call: &llm.ToolCall{ID: "a", Name: "look", Args: json.RawMessage(`{}`)}}}},
		{Role: llm.Tool, Parts: []llm.Part{{Result: &llm.ToolResult{
			ID: "a", Name: "look", Content: []tool.Content{tool.Text(words + "THE END")},
		}}}},
	}}
	got, err := by.Summarize(t.Context(), stretch)
	if diff := cmp.Diff(compact.SummaryResult{Text: "Goal: x", Model: "small", Usage: llm.Usage{Input: 5}}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	req, text := b.asked, b.asked.Messages[0].Text()
	if len(req.Tools) > 0 || !req.NoCache || req.CacheKey != "" || req.MaxTokens != 1024 || *req.Temperature != 0.3 ||
		!strings.Contains(req.System, "ONE summary") {
		t.Errorf("asked with %+v", req)
	}
	if strings.Index(text, "Goal:") > strings.Index(text, "[user] go") || strings.Count(text, "</earlier>") != 1 || strings.Count(text, "</conversation>") != 1 ||
		!strings.Contains(text, "[call] look {}") ||
		!strings.Contains(text, "THE END") ||
		!strings.Contains(text, "at most 180 words") {
		t.Error(tool.TruncateTo(text, 2000))
	}
	if n := len(text) / 4; n > 8000-1024 {
		t.Errorf("it was given %d tokens", n)
	}
	for range 400 {
		stretch.Messages = append(stretch.Messages, llm.TextMessage(llm.User, words[:1200]))
	}
	if _, err := by.Summarize(t.Context(), stretch); err != nil || len(b.asked.Messages[0].Text())/4 > 8000-1024 {
		t.Errorf("it was given %d tokens, %v", len(b.asked.Messages[0].Text())/4, err)
	}
}

// TestCutOff: half a summary is none. It is asked for once more with more room, where the window
// has some, and what all requests took is counted.
func TestCutOff(t *testing.T) {
	asked := compact.SummaryRequest{MaxTokens: 1000, Messages: []llm.Message{llm.TextMessage(llm.User, "go")}}
	b := &brain{cut: 1}
	got, err := summarizing.Model{Model: b, Window: 100_000}.Summarize(t.Context(), asked)
	if err != nil || got.Text != "Goal: x" || got.Usage.Input != 10 || len(b.limits) != 2 || b.limits[1] != 2*b.limits[0] {
		t.Errorf("%+v after %v, %v", got, b.limits, err)
	}
	b = &brain{cut: 9}
	if got, err := (summarizing.Model{Model: b, Window: 100_000}).Summarize(t.Context(), asked); err == nil || got.Usage.Input != 10 {
		t.Errorf("%+v, %v", got, err)
	}
	b = &brain{cut: 1}
	if _, err := (summarizing.Model{Model: b, Window: 8000}).Summarize(t.Context(), asked); err == nil || len(b.limits) != 1 {
		t.Errorf("a small window has no room: %v, %v", b.limits, err)
	}
	b = &brain{err: &llm.Error{Kind: llm.Refused, Message: "declined"}}
	if _, err := (summarizing.Model{Model: b}).Summarize(t.Context(), asked); tool.KindOf(err) != tool.Failed || len(b.limits) != 1 {
		t.Errorf("refused: %v", err)
	}
}

// TestRemembering: facts that pass the filter are stored, by calls that ask nobody, and a summary
// is there whether or not facts are.
func TestRemembering(t *testing.T) {
	asked := compact.SummaryRequest{MaxTokens: 300, Messages: []llm.Message{llm.TextMessage(llm.User, "the port is 4711")}}
	for _, test := range []struct {
		name, answer string
		want         []string
		requests     int
	}{
		{"facts", `{"facts":[{"key":"port","value":"4711","category":"number"},{"key":"word","value":"SECRET","category":"other"}]}`,
			[]string{`{"content":"port: 4711"}`}, 2},
		{"none", `{"facts":[]}`, nil, 2},
		{"no JSON, twice", `I found none.`, nil, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := &answering{answer: test.answer}
			var calls []string
			r := summarizing.Remembering{
				Model: summarizing.Model{Model: b, Window: 32_000},
				Call: func(_ context.Context, all []gate.CallRequest, _ func(int, *tool.Result)) []*tool.Result {
					for _, c := range all {
						if c.Name != "memory.remember" || !c.Unattended {
							t.Errorf("it calls %+v", c)
						}
						calls = append(calls, string(c.Args))
					}
					return nil
				},
				Check: func(text string) (string, error) {
					if strings.Contains(text, "SECRET") {
						return "", errors.New("no")
					}
					return text, nil
				},
			}
			got, err := r.Summarize(t.Context(), asked)
			if err != nil || got.Text != "Goal: x" || got.Usage.Input != 5*test.requests {
				t.Errorf("the summary is %+v, %v", got, err)
			}
			if diff := cmp.Diff(test.want, calls); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// answering is a model that summarizes, and answers with JSON where that is asked for.
type answering struct{ answer string }

func (a *answering) Generate(_ context.Context, req llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	text := "Goal: x"
	if len(req.Output) > 0 {
		text = a.answer
	}
	return &llm.Response{Message: llm.TextMessage(llm.Assistant, text), Usage: llm.Usage{Input: 5}}, nil
}
