package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"callgate/internal/cli/argv"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Tools writes the table of tools.
func (s Style) Tools(w io.Writer, tools []protocol.Tool) error {
	rows := make([][]Cell, len(tools))
	for i, t := range tools {
		rows[i] = []Cell{
			{oneLine(t.Name), strong}, s.risk(t.Risk), policy(t.Policy), plain(about(t)),
		}
	}
	return s.Table(w, []string{"NAME", "RISK", "POLICY", "WHAT"}, rows)
}

// about is a tool in a line: the first sentence of what it does, or what it
// takes when it says nothing.
func about(t protocol.Tool) string {
	if text := firstSentence(t.Description); text != "" {
		return text
	}
	return "(" + t.Signature + ")"
}

func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return text
}

func (s Style) risk(r tool.Risk) Cell {
	switch r.Level() {
	case 1:
		return Cell{oneLine(string(r)), good}
	case 2:
		return Cell{oneLine(string(orMedium(r))), warn}
	default:
		return Cell{oneLine(string(r)), bad}
	}
}

func orMedium(r tool.Risk) tool.Risk {
	if r == "" {
		return tool.Medium
	}
	return r
}

func policy(verdict string) Cell {
	color := map[string]string{"allow": good, "approve": warn}[verdict]
	if color == "" {
		color = bad
	}
	return Cell{oneLine(verdict), color}
}

// Tool writes all that a tool's user wants to know; call is how a command line
// that calls a tool begins.
func (s Style) Tool(w io.Writer, t protocol.Tool, call string) error {
	params, err := argv.Params(t.Input)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s(%s)\n\n", s.Strong(oneLine(t.Name)), oneLine(t.Signature))
	indent(&b, "  ", t.Description)
	s.params(&b, params)
	s.examples(&b, t, params, call)
	b.WriteByte('\n')
	verdict := policy(t.Policy)
	s.fields(&b, []field{
		{"risk", s.paint(s.risk(t.Risk).color, s.risk(t.Risk).Text)},
		{"policy", s.paint(verdict.color, verdict.Text) + policyReason(t.Reason)},
		{"side effect", oneLine(string(t.SideEffect)) + idempotence(t.Idempotent)},
		{"also called", oneLine(strings.Join(names(t), ", "))},
		{"tags", oneLine(strings.Join(t.Tags, ", "))},
		{"wire name", oneLine(t.Wire)},
		{"id", t.ID.String()},
	})
	_, err = w.Write(b.Bytes())
	return err
}

// Usage writes a tool's flags, as help for calling it.
func (s Style) Usage(w io.Writer, t protocol.Tool, call string) error {
	params, err := argv.Params(t.Input)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n%s\n  %s %s [flags]\n", oneLine(firstSentence(t.Description)), s.Strong("Usage"), call, oneLine(t.Name))
	s.params(&b, params)
	s.examples(&b, t, params, call)
	_, err = w.Write(b.Bytes())
	return err
}

// names are the other names that find a tool; aliases of several words only
// help a search.
func names(t protocol.Tool) []string {
	var list []string
	for _, n := range append([]string{t.Short}, t.Aliases...) {
		if n != "" && !strings.Contains(n, " ") {
			list = append(list, n)
		}
	}
	return list
}

func policyReason(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + oneLine(reason)
}

func idempotence(yes bool) string {
	if yes {
		return ", and running twice is running once"
	}
	return ""
}

// params writes the table of parameters.
func (s Style) params(b *bytes.Buffer, params []argv.Param) {
	if len(params) == 0 {
		fmt.Fprintf(b, "\n%s\n  none\n", s.Strong("Parameters"))
		return
	}
	flag, kind := 0, 0
	for _, p := range params {
		flag = max(flag, len([]rune(oneLine(p.Flag()))))
		kind = max(kind, len([]rune(kindOf(p))))
	}
	fmt.Fprintf(b, "\n%s\n", s.Strong("Parameters"))
	for _, p := range params {
		line := fmt.Sprintf("  --%-*s  %-*s  %s", flag, oneLine(p.Flag()), min(kind, 28), kindOf(p), oneLine(p.Description))
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
}

// kindOf says what a parameter takes, and what it is when left out.
func kindOf(p argv.Param) string {
	text := oneLine(p.Type())
	switch {
	case p.Required:
		text += ", required"
	case len(p.Default) > 0 && string(p.Default) != "null":
		text += " = " + compact(p.Default, 24)
	}
	return text
}

// examples writes calls that can be pasted.
func (s Style) examples(b *bytes.Buffer, t protocol.Tool, params []argv.Param, call string) {
	if len(t.Examples) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", s.Strong("Examples"))
	for _, e := range t.Examples {
		if e.Note != "" {
			fmt.Fprintf(b, "  %s\n", s.Faint("# "+oneLine(e.Note)))
		}
		fmt.Fprintf(b, "  %s\n", Call(call, t.Name, params, e.Args))
	}
}

// Call writes the command line that makes a call.
func Call(call, name string, params []argv.Param, args json.RawMessage) string {
	return strings.TrimRight(call+" "+oneLine(name)+" "+Safe(argv.Write(params, args)), " ")
}
