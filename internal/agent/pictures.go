package agent

import (
	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/llm"
	"callgate/tool"
)

// Pictures says which pictures a model is sent. The zero value is all of them.
//
// Law: what a request holds of earlier turns stays as it was sent, so that it begins with
// the same bytes: a picture is left out by its place in its own turn, never because others
// came later. A line of text stands where one is left out, so that nobody takes it for seen.
type Pictures struct {
	None bool // the model reads none
	Most int  // of one turn, the first; 0: all
}

// apply returns messages with the pictures that the model is sent. It changes none of them.
func (p Pictures) apply(messages []llm.Message) []llm.Message {
	if !p.None && p.Most == 0 {
		return messages
	}
	out := make([]llm.Message, len(messages))
	seen := 0
	left := func() string {
		switch seen++; {
		case p.None:
			return "this model reads no pictures"
		case seen > p.Most:
			return "there are more in this turn than the model is sent"
		}
		return ""
	}
	for i, m := range messages {
		if m.Role == llm.User && !fence.IsNote(m.Text()) {
			seen = 0 // a turn begins
		}
		out[i] = llm.Message{Role: m.Role, Parts: make([]llm.Part, len(m.Parts))}
		for j, part := range m.Parts {
			switch {
			case part.Image != nil:
				if why := left(); why != "" {
					part = llm.Part{Text: pictureText(part.Image.MIME, len(part.Image.Data), why)}
				}
			case part.Result != nil:
				part.Result = withoutPictures(*part.Result, left)
			}
			out[i].Parts[j] = part
		}
	}
	return out
}

// withoutPictures is a result without the pictures that are left out.
func withoutPictures(r llm.ToolResult, left func() string) *llm.ToolResult {
	content := make([]tool.Content, len(r.Content))
	for i, c := range r.Content {
		if c.Type == "image" {
			if why := left(); why != "" {
				c = tool.Content{Type: "text", Text: pictureText(c.MIME, len(c.Data), why)}
			}
		}
		content[i] = c
	}
	r.Content = content
	return &r
}

func pictureText(mime string, size int, why string) string {
	return "(a picture, " + mime + ", " + amount.Bytes(size) + ": it is not shown, because " + why + ")"
}
