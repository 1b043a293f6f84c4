package main

import (
	"context"
	"encoding/json"
	"strings"

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

// asker is a model that asks its user for a port.
type asker struct{}

// Generate answers a request.
func (asker) Generate(_ context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	for _, part := range last.Parts {
		if part.Result != nil {
			_, port, _ := strings.Cut(part.Result.Text(), "the user answered: - Port: ")
			said := llm.TextMessage(llm.Assistant, "It is served at port "+port)
			return &llm.Response{Message: said, Stop: llm.StopEnd}, nil
		}
	}
	form := json.RawMessage(`{"question": "How is it served?", "form": [{"label": "Port", "type": "integer"}]}`)
	call := llm.ToolCall{ID: "1", Name: "context_builder__ask_user", Args: form}
	return &llm.Response{
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &call}}},
		Stop:    llm.StopTools,
	}, nil
}
