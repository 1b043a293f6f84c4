package agent

import (
	"fmt"

	"callgate/internal/lazyregexp"
	"callgate/llm"
)

// asText writes calls and results as text, for a model whose provider does not
// support tools.
//
// # Law
//
// What a tool returned or a user pasted cannot end its block or begin a call or a
// result: its marks are written as HTML writes them (&lt;tool_call>). So a model
// that repeats them calls nothing either.
func asText(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		out[i] = llm.Message{Role: m.Role}
		if m.Role == llm.Tool {
			out[i].Role = llm.User
		}
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				p = llm.Part{Text: callText(p.Call)}
			case p.Result != nil:
				out[i].Parts = append(out[i].Parts, llm.Part{Text: resultText(p.Result)})
				out[i].Parts = append(out[i].Parts, resultImages(p.Result)...)
				continue
			case m.Role == llm.User && p.Text != "":
				p.Text = escapeMarks(p.Text)
			}
			out[i].Parts = append(out[i].Parts, p)
		}
	}
	return out
}

// callText is a call as a model without tools writes it.
func callText(c *llm.ToolCall) string {
	args := markPattern.ReplaceAllStringFunc(string(c.ArgsObject()), func(mark string) string {
		return fmt.Sprintf(`\u%04x%s`, mark[0], mark[1:]) // one of < [ &, inside a JSON string
	})
	return fmt.Sprintf("\n<tool_call>{\"name\": %q, \"arguments\": %s}</tool_call>\n", escapeMarks(c.Name), args)
}

// resultText is a result in its block, which says so if marks in it are escaped.
func resultText(r *llm.ToolResult) string {
	text, escaped := r.Text(), ""
	if safe := escapeMarks(text); safe != text {
		text, escaped = safe, ` escaped="html"`
	}
	return fmt.Sprintf("<tool_result name=%q%s>\n%s\n</tool_result>\n", escapeMarks(r.Name), escaped, text)
}

// resultImages are the pictures of a result: they follow its block, as a user's do.
func resultImages(r *llm.ToolResult) []llm.Part {
	var parts []llm.Part
	for _, c := range r.Content {
		if c.Type == "image" && len(c.Data) > 0 {
			parts = append(parts, llm.Part{Image: &llm.Image{MIME: c.MIME, Data: c.Data}})
		}
	}
	return parts
}

// markPattern finds what a model could take for the beginning or the end of a call
// or of a result, also when it is escaped already: elements, special tokens and
// the bracketed token.
var markPattern = lazyregexp.New(`(?i)(?:<|&(?:amp;)*lt;)` +
	`(?:\s*/?\s*(?:tool[_-]?(?:call|result|use)|function[_-]?call|invoke\b)|[|｜]/?[\w▁]+[|｜]?>)|(?:\[|&(?:amp;)*#91;)TOOL_CALLS\]`)

// escapeMarks writes marks as HTML would. An escaped one is escaped again, so the
// text can be read back.
func escapeMarks(text string) string {
	return markPattern.ReplaceAllStringFunc(text, func(mark string) string {
		switch mark[0] {
		case '<':
			return "&lt;" + mark[1:]
		case '[':
			return "&#91;" + mark[1:]
		default:
			return "&amp;" + mark[1:]
		}
	})
}
