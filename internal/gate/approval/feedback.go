package approval

import (
	"strings"
	"unicode"

	"callgate/tool"
)

// maxFeedback is the most characters of feedback that reach a model.
const maxFeedback = 500

// FenceFeedback prepares a human's feedback for a model. It removes control
// characters, limits the length, and quotes the text so that a model does not
// read it as instructions from the kernel.
func FenceFeedback(feedback string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(feedback, ""))
	clean = strings.NewReplacer("«", "‹", "»", "›").Replace(strings.TrimSpace(clean))
	if clean == "" {
		return ""
	}
	if runes := []rune(clean); len(runes) > maxFeedback {
		clean = string(runes[:maxFeedback]) + "…"
	}
	return "«" + clean + "»"
}

// RefusedError is what the asker of a call is told that no human approved.
func (r *Request) RefusedError() *tool.Error {
	const op = "gate.awaitApproval"
	name := r.Call.Tool.Dotted()
	if r.State == Expired {
		return tool.Errorf(op, tool.Denied, "nobody approved %s within %s", name, r.Deadline.Sub(r.AskedAt)).
			WithHint("ask the user, then try again")
	}
	if r.Answer.Unasked { // the words are the kernel's own
		why, hint, _ := strings.Cut(r.Answer.Feedback, "; ")
		return tool.Errorf(op, tool.Denied, "%s was not run: %s", name, why).WithHint("%s", hint)
	}
	e := tool.Errorf(op, tool.Denied, "a human refused %s", name)
	if quoted := FenceFeedback(r.Answer.Feedback); quoted != "" {
		return e.WithHint("they said: %s", quoted)
	}
	return e
}
