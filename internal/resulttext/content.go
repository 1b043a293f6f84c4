// Package resulttext writes a result for whoever reads it: the model of an agent,
// the client of the MCP face, a person at the command line. Law: what a reader must
// know stands in the content itself: that something was cut, of how much, and how to
// get the rest, on a line of its own at the end; and that there is nothing, in words.
package resulttext

import (
	"callgate/tool"
)

// Body returns the content of a result without its error and its notes: the tool's
// own content, else its data, else its summary. What was cut is its last line.
func Body(r *tool.Result) []tool.Content {
	out := append([]tool.Content(nil), r.Content...)
	switch {
	case len(out) > 0 || r.Error != nil:
	case len(r.Data) > 0: // a program reads the first text as JSON, so it stays that
		if out = append(out, tool.Text(string(r.Data))); r.Cut != nil {
			out = append(out, tool.Text(""))
		}
	default:
		out = append(out, tool.Text(r.Summary))
	}
	return addLine(out, CutLine(r.Cut))
}

// addLine adds a line of its own after the last text.
func addLine(out []tool.Content, line string) []tool.Content {
	if line == "" {
		return out
	}
	if n := len(out) - 1; n >= 0 && out[n].Type == "text" {
		if text := out[n].Text; text != "" && text[len(text)-1] != '\n' {
			line = "\n" + line
		}
		out[n].Text += line
		return out
	}
	return append(out, tool.Text(line))
}
