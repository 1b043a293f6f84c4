package compact

import (
	"context"
	_ "embed" // the instructions
	"fmt"
	"strings"

	"callgate/llm"
	"callgate/tool"
)

//go:embed summarize.md
var instructions string

// ModelSummarizer is a [Summarizer] that asks a model.
type ModelSummarizer struct {
	Model    llm.Model
	Settings llm.Request // what every request has
	Window   int         // tokens that the model reads and writes; 0: not known
}

var _ Summarizer = ModelSummarizer{}

// unknownWindow is taken for a model of which nothing is known.
const unknownWindow = 32_000

// Summarize asks for a summary.
func (a ModelSummarizer) Summarize(ctx context.Context, s SummaryRequest) (SummaryResult, error) {
	req := a.Settings
	req.System, req.Tools, req.ToolChoice = strings.TrimSpace(instructions), nil, ""
	req.CacheKey, req.NoCache = "", true
	req.MaxTokens = max(3*s.MaxTokens, 1024) // some think before they write
	window := a.Window
	if window <= 0 {
		window = unknownWindow
	}
	tokens := window - req.MaxTokens - estimateTokens(req.System) - estimateTokens(s.Earlier) - 500
	most := max(tokens, 500) * 3 // bytes, with some to spare
	var b strings.Builder
	if s.Earlier != "" {
		b.WriteString("The summary so far:\n<earlier>\n" + fenced(s.Earlier) + "\n</earlier>\n\n")
	}
	b.WriteString("What happened since:\n<conversation>\n" +
		fenced(transcript(s.Messages, most)) + "\n</conversation>\n\n")
	fmt.Fprintf(&b, "Write the summary now, in at most %d words.", max(s.MaxTokens*3/5, 40))
	req.Messages = []llm.Message{llm.TextMessage(llm.User, b.String())}
	answer, err := a.Model.Generate(ctx, req, nil)
	if err != nil {
		return SummaryResult{}, err
	}
	return SummaryResult{Text: answer.Message.Text(), Usage: answer.Usage, Model: answer.Model}, nil
}

// fenced keeps a text from ending the block that it stands in.
func fenced(text string) string {
	for _, tag := range []string{"</earlier", "</conversation"} {
		text = strings.ReplaceAll(text, tag, "<\u200b"+tag[1:])
	}
	return text
}

// transcript writes messages as text in at most so many bytes: each of them is
// shortened until all fit, and then the middle goes.
func transcript(messages []llm.Message, most int) string {
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
