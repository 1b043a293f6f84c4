package render

import (
	"fmt"
	"io"

	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// Doubts writes the table of calls in doubt.
func (s Style) Doubts(w io.Writer, list []protocol.Doubt) error {
	rows := make([][]Cell, len(list))
	for i, d := range list {
		begun, touches := d.Time, "-"
		if d.Doubt != nil {
			begun = d.Doubt.Begun
			if len(d.Doubt.Claims) > 0 {
				touches = claims(d.Doubt.Claims)
			}
		}
		rows[i] = []Cell{
			Plain(d.Call), Plain(toolOf(d.Record)), Plain(who(d.Record)), Plain(stamp(begun)),
			Plain(orDash(d.Changed)), Plain(doubtState(d)), Plain(touches),
		}
	}
	return s.Table(w, []string{"CALL", "TOOL", "WHO", "BEGUN", "CHANGED", "STATE", "TOUCHES"}, rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// doubtState is how far a doubt has come, in words.
func doubtState(d protocol.Doubt) string {
	switch d.State {
	case "new":
		return "undecided"
	case "judged":
		return "asker not told yet"
	case "told":
		return "asker told"
	default:
		return d.State
	}
}

// Doubt writes all that is known of a call in doubt, and what to do about it.
func (s Style) Doubt(w io.Writer, d protocol.Doubt) error {
	p := &page{Style: s}
	p.printf("%s  %s\n", s.Strong(text.OneLine(toolOf(d.Record))), s.Faint(text.OneLine(d.Call)))
	touches, begun := "", ""
	if d.Doubt != nil {
		touches, begun = claims(d.Doubt.Claims), stamp(d.Doubt.Begun)
	}
	changed := map[string]string{
		"yes": "yes: the call or somebody else has changed what it touches", "no": "no: its files are as they were",
		"unknown": "cannot be told: not everything it touches is a file that was looked at",
	}[d.Changed]
	ended := ""
	if d.Resolution != nil {
		ended = resolution(d.Resolution)
	}
	p.fields(field{"asked by", who(d.Record)}, field{"began", begun}, field{"found", stamp(d.Time)},
		field{"touches", touches}, field{"changed since", changed}, field{"state", doubtState(d)},
		field{"decision", text.OneLine(d.Why)}, field{"ended", text.OneLine(ended)})
	for i, a := range d.Attempts {
		p.fields(field{fmt.Sprintf("attempt %d", i+1),
			fmt.Sprintf("%s  %s  %s", stamp(a.Begun), text.OneLine(a.Call), text.OneLine(a.Summary))})
	}
	if d.Resolution == nil {
		p.printf("\n%s\n", s.Faint("Look at what it was to change (callgate log show "+text.OneLine(d.Call)+
			" has its arguments), then say\ncallgate log resolve "+text.OneLine(d.Call)+" --happened, or --not-happened."))
	}
	return p.writeTo(w)
}
