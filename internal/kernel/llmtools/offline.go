package llmtools

import (
	"context"

	"callgate/internal/gate/schema"
	"callgate/internal/provider/offline"
	"callgate/llm"
	"callgate/tool"
)

// offlineNote goes with everything that the substitute answers.
const offlineNote = offline.Label +
	"the answer has the right form and no meaning; name a model in tools.llm.default_model"

// substitute answers for LLM-backed tools where there is no language model. It understands
// nothing, and says so: its JSON is the simplest that the schema allows, and its text repeats what
// it was given.
type substitute struct{}

// Generate answers one request.
func (substitute) Generate(ctx context.Context, req llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, &llm.Error{Kind: llm.Cancelled, Provider: "offline", Err: err}
	}
	given := req.Messages[len(req.Messages)-1].Text()
	text := offline.Label + "I was given: " + tool.TruncateTo(given, 400)
	if len(req.Output) > 0 {
		s, err := schema.Compile(req.Output)
		if err != nil {
			return nil, &llm.Error{Kind: llm.BadRequest, Provider: "offline", Message: err.Error(), Err: err}
		}
		text = string(s.Example())
	}
	return &llm.Response{
		Message: llm.TextMessage(llm.Assistant, text), Stop: llm.StopEnd, Model: "offline",
		Usage: llm.Usage{Input: (len(req.System) + len(given)) / 4, Output: len(text) / 4, Priced: true},
	}, nil
}
