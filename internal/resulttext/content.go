// Package resulttext writes a result for whoever reads it: the model of an agent,
// the client of the MCP face, a person at the command line.
//
// Law: what a reader must know stands in the content itself. That something was cut,
// of how much, and how to get the rest is a line of its own at the end; that there is
// nothing is said in words; what the summary says and the content does not is said
// too. No reader is sent to a tool that it does not have, and each is told of a tool
// by the name by which it calls it.
package resulttext

import (
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/tool"
)

// nothing stands for the content of a result that says nothing at all.
const nothing = "(no output)"

// countsOnly finds a summary that only counts what the content shows: "a.txt: 3 lines".
var countsOnly = lazyregexp.New(
	`^(?:\S+: )?\d+ [a-z]+(?: of data)?(?:, \d+ [a-z]+(?: of data)?)*(?:, all of it)?$`)

// Content returns all that a reader is told of a result: its body, where more of it is
// kept, and its ending as the last lines.
func Content(r *tool.Result, names Names) []tool.Content {
	ending := Ending(r, names)
	if kept := keptLine(r, names); kept != "" {
		ending = strings.TrimSuffix(kept+"\n"+ending, "\n")
	}
	return addLines(Body(r, names), ending)
}

// keptLine says where the whole of a result is kept, unless the line about its cut does.
func keptLine(r *tool.Result, names Names) string {
	if r.ArtifactRef == "" || r.Cut != nil && r.Cut.Tool == ArtifactReader {
		return ""
	}
	read := names.called(ArtifactReader)
	if isWithheld := len(r.Content) == 0 && len(r.Data) == 0; read == "" || isWithheld || r.Call == "" {
		return "the whole result is kept as " + r.ArtifactRef
	}
	return "the whole result is kept: read it with " + read + " ref=" + r.Call
}

// ArtifactReader is the tool by which a model reads what was kept of a result.
const ArtifactReader = "artifact.read"

// Body returns the error of a result, and what there is beside it: the tool's own
// content, else its data, else its summary.
func Body(r *tool.Result, names Names) []tool.Content {
	var out []tool.Content
	if r.Error != nil {
		out = append(out, tool.Text(ErrorText(r.Error, names)))
	}
	said := slices.DeleteFunc(slices.Clone(r.Content), isBlank)
	tellsData := len(r.Content) == 0 && !isEmpty(r.Data) // what has content tells by it, though that is blank
	if tellsData {
		said = append(said, tool.Text(string(r.Data)))
	}
	summary := strings.TrimSpace(r.Summary)
	if text, asks := strings.CutSuffix(summary, waitsFor); asks {
		summary = waitingText(text, r.Approval, names)
	}
	summary = rename(summary, names)
	switch {
	case r.Error != nil: // it says what the summary would
	case len(said) == 0 && summary == "":
		said = append(said, tool.Text(nothing))
	case len(said) == 0:
		said = append(said, tool.Text(summary))
	case summary == "" || repeats(said, summary) || !tellsData && (tellsCut(r) || countsOnly.MatchString(summary)):
	case tellsData: // a program reads the first text as JSON
		said = append(said, tool.Text(summary))
	default:
		said = append([]tool.Content{tool.Text(summary)}, said...)
	}
	return append(out, said...)
}

// waitsFor is how the gate ends the summary of a call that waits for a human.
const waitsFor = " (a human must answer; then approvals.collect gives its result)"

// waitingText says that a call waits for a human, and how the reader gets its result.
func waitingText(text, approval string, names Names) string {
	text += " (a human must answer; nothing has run yet"
	if collect := names.called("approvals.collect"); collect != "" && approval != "" {
		text += `; then ` + collect + ` with {"approval":"` + approval + `"} gives its result`
	}
	return text + ")"
}

// Ending returns the last lines of a result: what is to be noted of it, and what was
// cut. It is "" if there is nothing to say.
func Ending(r *tool.Result, names Names) string {
	var lines []string
	for _, w := range r.Warnings {
		lines = append(lines, "note: "+rename(w, names))
	}
	if line := CutLine(r.Cut, names); line != "" {
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// addLines adds lines of their own after the last text. Data stay what they are.
func addLines(out []tool.Content, lines string) []tool.Content {
	if lines == "" {
		return out
	}
	n := len(out) - 1
	if n < 0 || out[n].Type != "text" || json.Valid([]byte(out[n].Text)) {
		return append(out, tool.Text(lines))
	}
	if !strings.HasSuffix(out[n].Text, "\n") {
		lines = "\n" + lines
	}
	out[n].Text += lines
	return out
}

// tellsCut reports whether the tool has told of a part how to get what follows it: its
// summary says that too, for a person.
func tellsCut(r *tool.Result) bool { return r.Cut != nil && r.Cut.Tool == "" && r.Cut.Next != "" }

// isBlank reports whether a piece of content says and shows nothing.
func isBlank(c tool.Content) bool {
	return len(c.Data) == 0 && c.URI == "" && strings.TrimSpace(c.Text) == ""
}

// isEmpty reports whether data say nothing: an empty object tells no reader that there
// was no output.
func isEmpty(data json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(data)), "") {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}

// repeats reports whether the content says what the summary says: as its first words,
// as the cut beginning of it, or on a line of its own.
func repeats(said []tool.Content, summary string) bool {
	begin := strings.TrimSpace(strings.TrimSuffix(summary, "…"))
	for _, c := range said {
		if strings.HasPrefix(strings.TrimSpace(c.Text), begin) {
			return true
		}
		for line := range strings.Lines(c.Text) {
			if strings.TrimSpace(line) == summary {
				return true
			}
		}
	}
	return false
}
