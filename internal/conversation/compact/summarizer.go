package compact

import (
	"context"
	"fmt"
	"strings"

	"callgate/llm"
	"callgate/tool"
)

// Transcript writes messages as text in at most so many bytes: each of them is
// shortened until all fit, and then the middle goes.
func Transcript(messages []llm.Message, most int) string {
	for _, each := range []int{16_000, 4000, 1000, 250} {
		var b strings.Builder
		for _, m := range messages {
			for _, p := range m.Parts {
				writePart(&b, m.Role, p, each)
			}
		}
		if b.Len() <= most {
			return b.String()
		}
		if each == 250 {
			return headAndTail(b.String(), most)
		}
	}
	return ""
}

func writePart(b *strings.Builder, role llm.Role, p llm.Part, most int) {
	switch {
	case p.Call != nil:
		fmt.Fprintf(b, "[call] %s %s\n", p.Call.Name, headAndTail(string(p.Call.Args), most))
	case p.Result != nil:
		how := "result"
		if p.Result.IsError {
			how = "failure"
		}
		fmt.Fprintf(b, "[%s] %s: %s\n", how, p.Result.Name, headAndTail(p.Result.Text(), most))
	case p.Image != nil:
		b.WriteString("[" + string(role) + "] (an image)\n")
	case strings.TrimSpace(p.Text) != "":
		fmt.Fprintf(b, "[%s] %s\n", role, headAndTail(strings.TrimSpace(p.Text), most))
	}
}

// checked is a [Summarizer] whose summaries are checked.
type checked struct {
	Summarizer
	check func(string) (string, error)
}

// Checked returns a summarizer whose summaries pass a check, which may change or
// refuse them, before they are used.
func Checked(by Summarizer, check func(string) (string, error)) Summarizer {
	return checked{by, check}
}

// Summarize writes the summary and checks it.
func (c checked) Summarize(ctx context.Context, s SummaryRequest) (SummaryResult, error) {
	made, err := c.Summarizer.Summarize(ctx, s)
	if err != nil {
		return made, err
	}
	if made.Text, err = c.check(made.Text); err != nil {
		return SummaryResult{}, tool.Errorf("compact.Summarize", tool.Denied, "the summary is refused: %w", err)
	}
	return made, nil
}
