package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// Servers writes the table of MCP servers.
func (s Style) Servers(w io.Writer, list []protocol.Server) error {
	rows := make([][]Cell, len(list))
	for i, one := range list {
		what := one.Launch
		if one.LastError != "" && one.Accepted {
			what = one.LastError
		}
		held := Plain(fmt.Sprint(len(one.Held)))
		if len(one.Held) > 0 {
			held.color = warn
		}
		rows[i] = []Cell{
			Bold(one.Name), serverState(one), Plain(one.Level), Plain(fmt.Sprint(one.Tools)), held,
			Plain(fmt.Sprint(one.Calls)), Plain(one.Protocol), Plain(what),
		}
	}
	head := []string{"NAME", "STATE", "LEVEL", "TOOLS", "HELD", "CALLS", "PROTOCOL", "WHAT"}
	if err := s.Table(w, head, rows); err != nil {
		return err
	}
	p := &page{Style: s}
	for _, one := range list {
		for _, problem := range one.Problems[:min(len(one.Problems), maxProblems)] {
			p.printf("%s: %s\n", text.OneLine(one.Name), text.OneLine(problem))
		}
		if more := len(one.Problems) - maxProblems; more > 0 {
			p.printf("%s: and %d more (--json shows all)\n", text.OneLine(one.Name), more)
		}
	}
	return p.writeTo(w)
}

// maxProblems is how many problems of a server are shown with it.
const maxProblems = 3

func serverState(one protocol.Server) Cell {
	switch {
	case !one.Accepted:
		return Cell{"not accepted", warn}
	case one.State == "failed" || one.State == "open-breaker":
		return Cell{string(one.State), bad}
	case one.State == "running":
		return Cell{string(one.State), good}
	}
	return Cell{string(one.State), ""}
}

// HeldTool writes a definition that waits for a human: why, what was found in
// it, and what changed.
func (s Style) HeldTool(w io.Writer, server string, h protocol.HeldTool) error {
	why := map[protocol.HeldReason]string{
		protocol.HeldChanged:    "its definition changed since it was accepted",
		protocol.HeldNew:        "the server did not have it before",
		protocol.HeldSuspicious: "something in it looks like an attempt to steer a model",
		protocol.HeldUnpinned:   "nobody has accepted it yet",
	}[h.Reason]
	p := &page{Style: s}
	p.printf("\n%s of %s: %s\n", s.Strong(text.OneLine(h.Definition.Name)), text.OneLine(server), why)
	for _, f := range h.Findings {
		p.printf("  %s %s: %s\n      %s\n", s.Bad(string(f.Severity)),
			text.OneLine(f.Where), text.OneLine(f.Why), text.OneLine(f.Excerpt))
	}
	for line := range strings.Lines(h.Diff) {
		p.printf("  %s\n", text.Safe(strings.TrimRight(line, "\n")))
	}
	return p.writeTo(w)
}

// Launches writes what servers would run, each in its parts. Variables and
// headers go by their names: a value may be a secret.
func (s Style) Launches(w io.Writer, list []protocol.Server, folder string) error {
	p := &page{Style: s}
	p.printf("These MCP servers would be used (values of variables and headers are not shown):\n")
	for _, one := range list {
		l := one.Parts
		p.printf("\n%s\n", s.Strong(text.OneLine(one.Name)))
		if l.URL != "" {
			p.fields(field{"connects to", text.OneLine(l.URL)}, field{"headers", text.OneLine(strings.Join(l.Headers, ", "))})
			continue
		}
		args := make([]string, len(l.Args))
		for i, a := range l.Args {
			args[i] = fmt.Sprintf("%q", a)
			if plainWord(a) {
				args[i] = a
			}
		}
		p.fields(
			field{"runs", text.OneLine(l.Command)},
			field{"arguments", text.OneLine(strings.Join(args, " "))},
			field{"in", text.OneLine(cmp.Or(l.Dir, folder))},
			field{"with the variables", text.OneLine(strings.Join(l.Env, ", "))},
			field{"isolation", text.OneLine(one.Reach)},
		)
	}
	p.printf("\n")
	return p.writeTo(w)
}

// plainWord reports a word that needs no quotes to be read as one.
func plainWord(word string) bool {
	return word != "" && !strings.ContainsAny(word, " \t\n\r\"'`$\\;&|<>()*?")
}
