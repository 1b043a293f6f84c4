package main

import (
	"context"
	"encoding/json"

	"callgate/llm"
)

// greeter is a model that always does the same: it calls demo.greet once, and
// then says what came of it. A real one asks a provider.
type greeter struct{}

// Generate answers a request.
func (greeter) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	for _, part := range last.Parts {
		if part.Result != nil {
			said := llm.TextMessage(llm.Assistant, "The tool answered "+part.Result.Text())
			return &llm.Response{Message: said, Stop: llm.StopEnd}, nil
		}
	}
	call := llm.ToolCall{ID: "1", Name: "demo__greet", Args: json.RawMessage(`{"name":"Grace"}`)}
	return &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &call}}},
		Stop:    llm.StopTools,
	}, nil
}
