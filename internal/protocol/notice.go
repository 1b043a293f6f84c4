package protocol

import (
	"strings"

	"callgate/internal/amount"
)

// NoteText is a note of the kernel to a model, in words for people: a line, and what
// the line is about, which may be long; rest is "" where the line says all.
func NoteText(e HistoryEvent) (line, rest string) {
	if e.Message == nil {
		return "", ""
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(e.Message.Text()), "<note>")
	if !ok {
		return text, ""
	}
	text = strings.TrimSpace(strings.TrimSuffix(text, "</note>"))
	if mode, ok := strings.CutPrefix(text, "PERMISSION MODE "); ok { // what follows tells the model how to go about it
		mode, _, _ = strings.Cut(mode, ":")
		return "permission mode: " + mode, ""
	}
	if e.Task == "" {
		return text, ""
	}
	line, rest, _ = strings.Cut(text, "\n")
	for _, w := range noticeWords {
		if after, ok := strings.CutPrefix(line, w.model); ok {
			line = w.people + after
			break
		}
	}
	line = strings.Replace(strings.Replace(line, " ENDED (", " ended (", 1), " ENDED: ", " ended: ", 1)
	if _, data, ok := strings.Cut(rest, "<data>\n"); ok { // what stands before tells the model how to read it
		rest = strings.TrimSuffix(data, "\n</data>")
	}
	return line, strings.TrimSpace(rest)
}

// noticeWords are the first words of notices, for models and for people.
var noticeWords = []struct{ model, people string }{
	{"TASK ", "task "}, {"CORE JOB ", "core job "}, {"NOTICE ", ""}, {"AGENT ", "agent "}, {"APP ", "app "},
}

// CompactionText says what the model reads from here on in the place of what was.
func CompactionText(c *Compaction) string {
	var said []string
	if c != nil && (c.Summary != "" || c.Dropped > 0) {
		said = append(said, "what was said before now stands in a summary")
	}
	if c != nil && len(c.Shortened) > 0 {
		parts := amount.As(len(c.Shortened), "long result is", "long results are")
		said = append(said, parts+" now shown to the model in part")
	}
	if len(said) == 0 {
		return "there was nothing to leave out: the conversation stays as it was"
	}
	return strings.Join(said, "; ")
}
