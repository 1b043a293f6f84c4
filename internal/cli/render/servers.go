package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"callgate/internal/protocol"
)

// Servers writes the table of MCP servers.
func (s Style) Servers(w io.Writer, list []protocol.Server) error {
	rows := make([][]Cell, len(list))
	for i, one := range list {
		state, color := string(one.State), ""
		switch {
		case !one.Accepted:
			state, color = "not accepted", warn
		case one.State == "failed" || one.State == "open-breaker":
			color = bad
		case one.State == "running":
			color = good
		}
		about := one.Launch
		if one.LastError != "" && one.Accepted {
			about = one.LastError
		}
		held := Cell{fmt.Sprint(len(one.Held)), ""}
		if len(one.Held) > 0 {
			held.color = warn
		}
		rows[i] = []Cell{{oneLine(one.Name), strong}, {state, color}, plain(fmt.Sprint(one.Tools)), held, plain(fmt.Sprint(one.Calls)), plain(one.Protocol), plain(about)}
	}
	return s.Table(w, []string{"NAME", "STATE", "TOOLS", "HELD", "CALLS", "PROTOCOL", "WHAT"}, rows)
}

// HeldTool writes a definition that waits for a human: why, what was found in it,
// and what changed.
func (s Style) HeldTool(w io.Writer, server string, h protocol.HeldTool) error {
	var b bytes.Buffer
	why := map[protocol.HeldReason]string{
		protocol.HeldChanged: "its definition changed since it was accepted", protocol.HeldNew: "the server did not have it before",
		protocol.HeldSuspicious: "something in it looks like an attempt to steer a model", protocol.HeldUnpinned: "nobody has accepted it yet",
	}[h.Reason]
	fmt.Fprintf(&b, "\n%s of %s: %s\n", s.Strong(oneLine(h.Definition.Name)), oneLine(server), why)
	for _, f := range h.Findings {
		fmt.Fprintf(&b, "  %s %s: %s\n      %s\n", s.Bad(string(f.Severity)), oneLine(f.Where), oneLine(f.Why), oneLine(f.Excerpt))
	}
	for line := range strings.Lines(h.Diff) {
		fmt.Fprintf(&b, "  %s\n", Safe(strings.TrimRight(line, "\n")))
	}
	_, err := w.Write(b.Bytes())
	return err
}
