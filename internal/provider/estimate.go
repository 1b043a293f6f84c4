package provider

import (
	"cmp"

	"callgate/internal/provider/anthropic"
	"callgate/llm"
)

// EstimateTokens estimates what a request will take, read and written.
func EstimateTokens(req llm.Request) int {
	u := Estimate(req)
	return u.Input + u.Output
}

// Estimate estimates what a request will take: four bytes of text to a token, and all that the response may
// have. It is more than most requests take, as what providers reserve is.
func Estimate(req llm.Request) llm.Usage {
	const image = 1500 // tokens, more or less
	const response = 1000
	bytes, tokens := len(req.System)+len(req.Output), 0
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			bytes += len(part.Text)
			switch {
			case part.Image != nil:
				tokens += image
			case part.Call != nil:
				bytes += len(part.Call.Name) + len(part.Call.Args)
			case part.Result != nil:
				for _, c := range part.Result.Content {
					bytes += len(c.Text)
				}
			case part.Reasoning != nil:
				bytes += len(part.Reasoning.Text)
			}
		}
	}
	return llm.Usage{Input: tokens + (bytes+3)/4, Output: cmp.Or(req.MaxTokens, response)}
}

// Estimate estimates what a request to the model will take, with the limit that its API is sent where the
// request has none.
func (i Info) Estimate(req llm.Request) llm.Usage {
	if i.Backend != Anthropic {
		return Estimate(req)
	}
	if req.MaxTokens <= 0 {
		req.MaxTokens = i.answerLimit()
	}
	usage := Estimate(req)
	usage.Output += anthropic.Thinking(cmp.Or(req.Model, i.Model), req.Effort)
	return usage
}
