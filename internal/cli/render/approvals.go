package render

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"callgate/internal/cli/text"
	"callgate/internal/client/editpreview"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/tool"
)

// Approvals writes the table of approvals.
func (s Style) Approvals(w io.Writer, list []protocol.Approval) error {
	rows := make([][]Cell, len(list))
	for i, r := range list {
		rows[i] = []Cell{
			Bold(r.ID), approvalState(r.State), Plain(r.Call.Tool.Dotted()), risk(r.Risk),
			Plain(s.ago(r.AskedAt)), Plain(timeLeft(r, s.now())), Plain(arguments.OneLine(r.Call.Args, 60)),
		}
	}
	return s.Table(w, []string{"ID", "STATE", "TOOL", "RISK", "ASKED", "LEFT", "ARGUMENTS"}, rows)
}

func approvalState(st protocol.ApprovalState) Cell {
	switch st {
	case protocol.ApprovalPending:
		return Cell{string(st), warn}
	case protocol.ApprovalApproved, protocol.ApprovalUsed:
		return Cell{string(st), good}
	default:
		return Cell{text.OneLine(string(st)), bad}
	}
}

// timeLeft is how much time a pending approval has.
func timeLeft(r protocol.Approval, now time.Time) string {
	if r.State != protocol.ApprovalPending {
		return ""
	}
	return text.Duration(r.Deadline.Sub(now).Round(time.Second))
}

// maxQuestion is how many lines of arguments a question shows.
const maxQuestion = 60

// Question writes the call that a human is asked about: with long arguments, the
// beginning of them, and how to see the rest.
func (s Style) Question(w io.Writer, r protocol.Approval) error {
	p := &page{Style: s}
	s.approval(p, r, maxQuestion)
	return p.writeTo(w)
}

// Approval writes the exact call that a human is asked about, whole.
func (s Style) Approval(w io.Writer, r protocol.Approval) error {
	p := &page{Style: s}
	s.approval(p, r, math.MaxInt)
	return p.writeTo(w)
}

func (s Style) approval(p *page, r protocol.Approval, most int) {
	level, st := risk(r.Risk), approvalState(r.State)
	p.printf("%s  %s  %s\n", s.Strong(visible.Text(r.Call.Tool.Dotted())),
		s.paint(level.color, level.Text+" risk"), s.Faint(text.OneLine(r.ID)))
	fields := []field{
		{"state", s.paint(st.color, st.Text)},
		{"why asked", visible.Text(r.Reason)},
		{"asked by", visible.Text(r.Call.Principal.String())},
		{"workspace", visible.Text(r.Workspace)},
		{"touches", claims(r.Claims)},
		{"asks model", visible.Text(r.Call.Model)},
		{"call", text.OneLine(r.Call.ID)},
		{"asked", stamp(r.AskedAt)},
	}
	if sc := r.Script; sc != nil {
		fields = append(fields, field{"script", fmt.Sprintf("line %d of %s", sc.Line, text.OneLine(sc.Call))})
		if sc.Offer != nil {
			fields = append(fields, field{"of the rest", visible.Text(sc.Offer.Text)})
		}
	}
	if r.State == protocol.ApprovalPending {
		fields = append(fields, field{"time left", timeLeft(r, s.now())})
	}
	if a := r.Answer; a != nil {
		fields = append(fields,
			field{"answered", fmt.Sprintf("%s by %s", stamp(a.At), text.OneLine(a.By))},
			field{"they said", text.OneLine(a.Feedback)})
		if a.Always {
			allowed := "the rest of the session"
			if r.Session != nil {
				allowed += ": " + visible.Text(r.Session.Text)
			}
			fields = append(fields, field{"for", allowed})
		}
		if a.Remember != nil {
			fields = append(fields, field{"kept as", "grant " + text.OneLine(a.Remember.Grant)})
		}
	}
	p.fields(fields...)
	if r.Script != nil {
		p.program(r.Script, most)
	}
	if words := editpreview.Words(r); words != nil {
		p.words(r, words, most)
	}
	p.arguments("arguments", r, r.Call.Args, most)
	if r.Answer != nil && len(r.Answer.Args) > 0 {
		p.arguments("arguments as edited", r, r.Answer.Args, most)
	}
}

// program writes a script with the numbers of its lines, and a mark at the call.
func (p *page) program(s *protocol.ScriptPlace, most int) {
	p.printf("  %s\n", p.Faint("program"))
	for i, line := range strings.Split(s.Program, "\n") {
		if i == most {
			p.printf("    %s\n", p.Faint("…"))
			break
		}
		mark := " "
		if i+1 == s.Line {
			mark = ">"
		}
		p.printf("   %s%3d  %s\n", mark, i+1, visible.Text(line))
	}
}

// words writes what a call makes as a person reads it, at most so many lines.
func (p *page) words(r protocol.Approval, words []string, most int) {
	p.printf("  %s\n", p.Faint("as it is read"))
	more := max(len(words)-most, 0)
	p.indent("    ", visible.Lines(strings.Join(words[:len(words)-more], "\n")))
	if more > 0 {
		p.printf("    %s\n", p.Faint(arguments.More(more, r.ID)))
	}
}

// arguments writes at most so many lines of arguments.
func (p *page) arguments(name string, r protocol.Approval, args json.RawMessage, most int) {
	lines, more := arguments.Bounded(args, most)
	if len(lines) == 0 {
		return
	}
	p.printf("  %s\n", p.Faint(name))
	p.indent("    ", strings.Join(lines, "\n"))
	if more > 0 {
		p.printf("    %s\n", p.Faint(arguments.More(more, r.ID)))
	}
}

// Choices writes how a yes to an approval may last.
func (s Style) Choices(w io.Writer, r protocol.Approval) error {
	p := &page{Style: s}
	if r.State == protocol.ApprovalPending && len(r.Choices) > 0 {
		p.printf("\n%s\n", s.Faint("approve it from now on, with --remember and a number:"))
		for i, choice := range r.Choices {
			p.printf("  %d  %s\n", i+1, visible.Text(choice.Text))
		}
	}
	return p.writeTo(w)
}

// claims writes the resources that a call touches.
func claims(list []tool.Claim) string {
	parts := make([]string, len(list))
	for i, c := range list {
		mode := modeName(c.Mode)
		if c.Mode == tool.U {
			mode += ", others may read"
		}
		parts[i] = fmt.Sprintf("%s (%s)", visible.Text(c.Resource), mode)
	}
	return strings.Join(parts, ", ")
}
