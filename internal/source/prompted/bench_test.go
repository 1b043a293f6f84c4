package prompted_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/source/prompted"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// instant is a model that answers at once.
type instant struct{ text string }

func (m instant) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return &llm.Response{Message: llm.TextMessage(llm.Assistant, m.text), Stop: llm.StopEnd}, nil
}

// one lends one model to every call.
type one struct {
	world
	model llm.Model
}

func (o *one) Open(_ context.Context, name string) (prompted.Opened, error) {
	provider, model, err := llmtool.SplitModel(name)
	return prompted.Opened{Model: o.model, Target: llmtool.Target{Provider: provider, Model: model}}, err
}

// BenchmarkRun is what the runner does of a call outside of the model: small, and with a prompt and a
// schema as large as they are in use.
func BenchmarkRun(b *testing.B) {
	large := triage("openai/gpt-4o")
	large.SystemPrompt = strings.Repeat("You sort tickets of a help desk, carefully. ", 200)
	large.UserTemplate = strings.Repeat("Ticket {{ticket}} of {{ticket}}.\n", 50)
	var properties []string
	for i := range 60 {
		properties = append(properties, `"field`+string(rune('a'+i%26))+strings.Repeat("x", i)+`":{"type":"string"}`)
	}
	large.OutputSchema = json.RawMessage(strings.Replace(string(large.OutputSchema), `"urgent":{`,
		strings.Join(properties, ",")+`,"urgent":{`, 1))
	for name, d := range map[string]llmtool.Definition{"small": triage("openai/gpt-4o"), "large": large} {
		b.Run(name, func(b *testing.B) {
			models := &one{model: instant{good}}
			r := &prompted.Runner{Models: func(tool.Call, tool.Grant) prompted.Models { return models }}
			made, err := llmtool.Define(d)
			if err != nil {
				b.Fatal(err)
			}
			handler := r.Bind(made).Handler
			call := tool.Call{Args: json.RawMessage(args)}
			b.ReportAllocs()
			for b.Loop() {
				res, err := handler.Execute(b.Context(), call, tool.Grant{})
				if err != nil || res.Status != tool.Success {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		})
	}
}
