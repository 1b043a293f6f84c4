package command

import (
	"bytes"
	"encoding/json"
	"strings"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// Result writes the result of a call: its content to standard output, and
// everything about it to standard error. A non-empty example is a command line
// that would be right. The error that it returns carries the exit code.
func (o *Output) Result(r *tool.Result, example string) error {
	if o.JSON {
		if err := o.WriteJSON(r); err != nil {
			return err
		}
		return Exit(codeOfResult(r))
	}
	if err := o.content(r); err != nil {
		return err
	}
	for _, w := range r.Warnings {
		o.Status("warning: %s", w)
	}
	switch {
	case r.Status == tool.Waiting:
		o.Status("callgate: %s", strings.TrimSpace(strings.Split(r.Summary, " (a human must answer")[0]))
		o.HowToAnswer(r.Approval)
	case r.Error != nil:
		o.explain(r.Error, example)
	case r.Status == tool.Success && o.isShown(r.Summary, r.Content):
	case r.Status == tool.Success:
		o.Status("%s", r.Summary)
	default:
		o.Status("callgate: %s", r.Summary)
	}
	if r.ArtifactRef != "" {
		o.Status("the full result: %s artifacts get %s", o.Self(), r.ArtifactRef)
	}
	return Exit(codeOfResult(r))
}

// isShown reports whether a person at a terminal reads the summary as the content already.
func (o *Output) isShown(summary string, content []tool.Content) bool {
	_, toTerminal := Terminal(o.Stdout)
	return toTerminal && len(content) == 1 && strings.TrimSpace(content[0].Text) == strings.TrimSpace(summary)
}

// content writes a result's text, or else its data, and what was cut of it.
func (o *Output) content(r *tool.Result) error {
	if len(r.Content) == 0 {
		if len(r.Data) == 0 {
			return nil
		}
		return o.Print(pretty(r.Data) + "\n" + cutLine(r))
	}
	_, toTerminal := Terminal(o.Stdout)
	cut, open := cutLine(r), false // a line that is not ended is open
	for _, c := range r.Content {
		if len(c.Data) > 0 {
			o.Status("%s (%s, %d bytes) is left out; --json has it", contentNoun(c.Type), c.MIME, len(c.Data))
		}
		words := c.Text
		if words == "" {
			continue
		}
		if toTerminal && !strings.HasSuffix(words, "\n") {
			words += "\n"
		}
		if err := o.Print(words); err != nil {
			return err
		}
		open = !strings.HasSuffix(words, "\n")
	}
	if cut != "" && open {
		cut = "\n" + cut
	}
	return o.Print(cut)
}

// cutLine is the line that tells what was cut. The whole of what a tool calls an
// artifact is told of as a command.
func cutLine(r *tool.Result) string {
	noTools := func(string) (string, bool) { return "", true }
	if line := resulttext.CutLine(r.Cut, noTools); line != "" {
		return line + "\n"
	}
	return ""
}

// pretty writes data for a person: a string as its text, the rest as JSON.
func pretty(data json.RawMessage) string {
	var words string
	if json.Unmarshal(data, &words) == nil {
		return words
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

// HowToAnswer prints the commands that answer an approval.
func (o *Output) HowToAnswer(id string) {
	o.Status("  show      %s approvals show %s", o.Self(), id)
	o.Status("  approve   %s approvals approve %s", o.Self(), id)
	o.Status("  deny      %s approvals deny %s", o.Self(), id)
}

// contentNoun says what a piece of content is that cannot be printed.
func contentNoun(kind string) string {
	switch kind {
	case "image":
		return "an image"
	case "audio":
		return "a sound"
	default:
		return "a file"
	}
}
