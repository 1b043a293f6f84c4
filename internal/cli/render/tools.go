package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"callgate/internal/cli/argv"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Tools writes the table of tools.
func (s Style) Tools(w io.Writer, tools []protocol.Tool) error {
	rows := make([][]Cell, len(tools))
	for i, t := range tools {
		rows[i] = []Cell{Bold(t.Name), risk(t.Risk), policy(t.Policy), Plain(summary(t))}
	}
	return s.Table(w, []string{"NAME", "RISK", "POLICY", "WHAT"}, rows)
}

// summary is a tool in a line: the first sentence of its description, or its
// signature when it has none.
func summary(t protocol.Tool) string {
	if sentence := firstSentence(t.Description); sentence != "" {
		return sentence
	}
	return "(" + t.Signature + ")"
}

func firstSentence(words string) string {
	words, _, _ = strings.Cut(strings.TrimSpace(words), "\n")
	if i := strings.Index(words, ". "); i > 0 {
		words = words[:i+1]
	}
	return words
}

func risk(r tool.Risk) Cell {
	switch r.Level() {
	case 1:
		return Cell{text.OneLine(string(r)), good}
	case 2:
		return Cell{text.OneLine(string(orMedium(r))), warn}
	default:
		return Cell{text.OneLine(string(r)), bad}
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
	return Cell{text.OneLine(verdict), color}
}

// Tool writes all that the user of a tool wants to know; call is how a command
// line that calls a tool begins.
func (s Style) Tool(w io.Writer, t protocol.Tool, call string) error {
	params, err := argv.Params(t.Input)
	if err != nil {
		return err
	}
	p := &page{Style: s}
	p.printf("%s(%s)\n\n", s.Strong(text.OneLine(t.Name)), text.OneLine(t.Signature))
	p.indent("  ", t.Description)
	p.parameters(params)
	p.examples(t, params, call)
	p.WriteByte('\n')
	level, verdict := risk(t.Risk), policy(t.Policy)
	p.fields(
		field{"risk", s.paint(level.color, level.Text)},
		field{"policy", s.paint(verdict.color, verdict.Text) + policyReason(t.Reason)},
		field{"side effect", text.OneLine(string(t.SideEffect)) + idempotence(t.Idempotent)},
		field{"claims", text.OneLine(claimed(t.Claims))},
		field{"also called", text.OneLine(strings.Join(names(t), ", "))},
		field{"tags", text.OneLine(strings.Join(t.Tags, ", "))},
		field{"wire name", text.OneLine(t.Wire)},
		field{"id", t.ID.String()},
	)
	return p.writeTo(w)
}

// Usage writes a tool's flags, as help for calling it.
func (s Style) Usage(w io.Writer, t protocol.Tool, call string) error {
	params, err := argv.Params(t.Input)
	if err != nil {
		return err
	}
	p := &page{Style: s}
	p.printf("%s\n\n%s\n  %s %s [flags]\n",
		text.OneLine(firstSentence(t.Description)), s.Strong("Usage"), call, text.OneLine(t.Name))
	p.parameters(params)
	p.examples(t, params, call)
	return p.writeTo(w)
}

// claimed is what a call claims, with the modes in words; callgate locks --help
// explains them.
func claimed(list []tool.Effect) string {
	var all []string
	for _, e := range list {
		words := e.Resource + " (" + modeName(e.Mode)
		if e.When != "" {
			words += ", with " + e.When
		}
		if len(e.Unless) > 0 {
			words += ", without " + strings.Join(e.Unless, ", ")
		}
		if words += ")"; !slices.Contains(all, words) {
			all = append(all, words)
		}
	}
	return strings.Join(all, ", ")
}

// names are the other names of a tool. Aliases of several words only help a
// search.
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
	return ": " + text.OneLine(reason)
}

func idempotence(yes bool) string {
	if yes {
		return ", and repeating it changes nothing"
	}
	return ""
}

// parameters writes the table of parameters.
func (p *page) parameters(params []argv.Param) {
	p.printf("\n%s\n", p.Strong("Parameters"))
	if len(params) == 0 {
		p.printf("  none\n")
		return
	}
	flag, kind := 0, 0
	for _, param := range params {
		flag = max(flag, len([]rune(text.OneLine(param.Flag()))))
		kind = max(kind, len([]rune(kindOf(param))))
	}
	for _, param := range params {
		line := fmt.Sprintf("  --%-*s  %-*s  %s", flag, text.OneLine(param.Flag()),
			min(kind, 28), kindOf(param), text.OneLine(param.Description))
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// kindOf says what a parameter takes, and what its default is.
func kindOf(p argv.Param) string {
	kind := text.OneLine(p.Type())
	switch {
	case p.Required:
		kind += ", required"
	case len(p.Default) > 0 && string(p.Default) != "null":
		kind += " = " + text.Compact(p.Default, 24)
	}
	return kind
}

// examples writes calls that can be pasted.
func (p *page) examples(t protocol.Tool, params []argv.Param, call string) {
	if len(t.Examples) == 0 {
		return
	}
	p.printf("\n%s\n", p.Strong("Examples"))
	for _, e := range t.Examples {
		if e.Note != "" {
			p.printf("  %s\n", p.Faint("# "+text.OneLine(e.Note)))
		}
		p.printf("  %s\n", Call(call, t.Name, params, e.Args))
	}
}

// Call writes the command line that makes a call.
func Call(call, name string, params []argv.Param, args json.RawMessage) string {
	return strings.TrimRight(call+" "+text.OneLine(name)+" "+text.Safe(argv.Write(params, args)), " ")
}
