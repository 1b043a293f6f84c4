package compact

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/internal/lazyregexp"
	"callgate/llm"
	"callgate/tool"
)

// summary is what stands for messages that were left out.
type summary struct {
	dropped int    // how many, since the beginning
	text    string // what they held
}

// The frame marks a summary, so that a model does not take it for the user's
// words.
const (
	frameBegin = "<summary>\n%d earlier messages of this conversation are no longer shown, to save room. What they held:\n"
	frameEnd   = "\n</summary>"
)

// minSummary is the tokens that a summary always has: its frame, and a few
// words.
const minSummary = 96

var frame = lazyregexp.New(`(?s)^<summary>\n(\d{1,9}) earlier messages [^\n]*\n(.*)\n</summary>$`)

func (s summary) String() string {
	return fmt.Sprintf(frameBegin, s.dropped) + strings.ReplaceAll(s.text, "</summary", "<\u200b/summary") + frameEnd
}

// parseSummary reads what String wrote; any other text is a summary as it is.
func parseSummary(text string) summary {
	m := frame.FindStringSubmatch(text)
	if m == nil {
		return summary{text: strings.TrimSpace(text)}
	}
	n, _ := strconv.Atoi(m[1]) // digits, and few
	return summary{dropped: n, text: m[2]}
}

// within writes the summary in at most so many tokens. Lines of its middle go
// first: at its beginning it says what the conversation is about, at its end
// what happened last.
func (s summary) within(tokens int, count func(string) int) string {
	for size := len(s.text); ; size = size * 3 / 4 {
		s.text = withoutMiddle(s.text, size)
		if text := s.String(); count(text) <= tokens || size < 16 {
			return text
		}
	}
}

const gap = "…"

// withoutMiddle is a text in at most size bytes, of whole lines where that can
// be.
func withoutMiddle(text string, size int) string {
	if len(text) <= size {
		return text
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 4 {
		return clip(text, size)
	}
	var head, tail []string
	inHead, inTail := 0, 0
	for i, j := 0, len(lines)-1; i <= j; {
		fromTail := i > 0 && inTail < 2*inHead
		line := lines[i]
		if fromTail {
			line = lines[j]
		}
		if inHead+inTail+len(line)+len(gap)+2 > size {
			break
		}
		if fromTail {
			tail, inTail, j = append(tail, line), inTail+len(line)+1, j-1
		} else {
			head, inHead, i = append(head, line), inHead+len(line)+1, i+1
		}
	}
	if len(head) == 0 {
		return clip(text, size)
	}
	slices.Reverse(tail)
	again := func(line string) bool { return line == gap } // from an earlier compaction
	return strings.Join(slices.Concat(slices.DeleteFunc(head, again), []string{gap}, slices.DeleteFunc(tail, again)), "\n")
}

// clip is the beginning of a text, in at most size bytes.
func clip(text string, size int) string {
	size = max(size-len(gap), 0)
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size] + gap
}

// join puts what is new below what was.
func join(was, now string) string { return strings.TrimSpace(was + "\n" + now) }

// listWords lists what the user asked for, what the model concluded, and the news that
// came, a line each.
func listWords(messages []Message) string {
	var lines []string
	for _, m := range messages {
		if line := m.line(); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// line is what was said, in a line; "" if it was nothing.
func (m Message) line() string {
	words := strings.Join(strings.Fields(m.Text()), " ")
	switch {
	case words == "" || m.Role == llm.Tool:
		return ""
	case m.Kind == Note:
		words = strings.TrimSuffix(strings.TrimPrefix(words, "<note> "), " </note>")
		return "- news: " + tool.TruncateTo(words, 120)
	case m.Kind == UserText:
		return "- the user: " + tool.TruncateTo(words, 300)
	case m.Role == llm.Assistant:
		return "- you: " + tool.TruncateTo(words, 240)
	}
	return ""
}

// summarize asks the summarizer for a summary.
func (p Policy) summarize(ctx context.Context, plan *Plan, by Summarizer) (SummaryResult, error) {
	const op = "compact.Summarize"
	if by == nil {
		return SummaryResult{}, tool.Errorf(op, tool.Unavailable, "there is no model to write one").
			WithHint("name one as context.summary_brain")
	}
	earlier, _ := splitRecord(plan.earlier.text)
	s := SummaryRequest{Earlier: earlier, MaxTokens: plan.budget}
	for _, m := range plan.dropped {
		s.Messages = append(s.Messages, m.Message)
	}
	limited, cancel := context.WithTimeout(ctx, p.SummaryTimeout)
	defer cancel()
	made, err := by.Summarize(limited, s)
	made.Text = strings.TrimSpace(made.Text)
	switch {
	case err != nil && limited.Err() != nil:
		err = tool.Errorf(op, tool.Timeout, "the model took longer than %v", p.SummaryTimeout)
	case err == nil && made.Text == "":
		err = tool.Errorf(op, tool.Failed, "the model wrote nothing")
	}
	return made, err
}
