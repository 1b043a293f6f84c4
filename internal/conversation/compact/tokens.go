package compact

import "callgate/llm"

// What is not text is guessed, rather high.
const (
	perMessage = 4
	perImage   = 1600
)

// estimateTokens is the count of tokens where no tokenizer is known.
func estimateTokens(text string) int { return (len(text) + 3) / 4 }

// message counts the tokens of a message.
func (p Policy) message(m llm.Message) int {
	n := perMessage
	for _, part := range m.Parts {
		switch {
		case part.Call != nil:
			n += p.Tokens(part.Call.Name) + p.Tokens(string(part.Call.Args)) + perMessage
		case part.Result != nil:
			n += p.result(part.Result)
		case part.Image != nil:
			n += perImage
		case part.Reasoning != nil:
			n += p.Tokens(part.Reasoning.Text) + p.Tokens(part.Reasoning.Data)
		default:
			n += p.Tokens(part.Text)
		}
	}
	return n
}

// result counts the tokens of a result.
func (p Policy) result(r *llm.ToolResult) int {
	n := perMessage
	for _, c := range r.Content {
		if c.Type == "image" {
			n += perImage
		}
		n += p.Tokens(c.Text)
	}
	return n
}
