package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Approvals writes the table of requests.
func (s Style) Approvals(w io.Writer, list []protocol.Approval) error {
	rows := make([][]Cell, len(list))
	for i, r := range list {
		rows[i] = []Cell{
			{oneLine(r.ID), strong}, state(r.State), {oneLine(r.Call.Tool.Dotted()), ""}, s.risk(r.Risk),
			plain(s.ago(r.AskedAt)), plain(s.timeLeft(r)), plain(compact(r.Call.Args, 60)),
		}
	}
	return s.Table(w, []string{"ID", "STATE", "TOOL", "RISK", "ASKED", "LEFT", "ARGUMENTS"}, rows)
}

func state(st protocol.ApprovalState) Cell {
	switch st {
	case protocol.ApprovalPending:
		return Cell{string(st), warn}
	case protocol.ApprovalApproved, protocol.ApprovalUsed:
		return Cell{string(st), good}
	default:
		return Cell{oneLine(string(st)), bad}
	}
}

// timeLeft is how much time a pending request has.
func (s Style) timeLeft(r protocol.Approval) string {
	if r.State != protocol.ApprovalPending {
		return ""
	}
	return Duration(r.Deadline.Sub(s.now()).Round(time.Second))
}

// Approval writes the exact call that a human is asked about.
func (s Style) Approval(w io.Writer, r protocol.Approval) error {
	var b bytes.Buffer
	risk, st := s.risk(r.Risk), state(r.State)
	fmt.Fprintf(&b, "%s  %s  %s\n", s.Strong(oneLine(r.Call.Tool.Dotted())), s.paint(risk.color, risk.Text+" risk"), s.Faint(oneLine(r.ID)))
	facts := []field{
		{"state", s.paint(st.color, st.Text)},
		{"why asked", oneLine(r.Reason)},
		{"asked by", oneLine(r.Call.Principal.String())},
		{"workspace", oneLine(r.Workspace)},
		{"touches", claims(r.Claims)},
		{"call", oneLine(r.Call.ID)},
		{"asked", stamp(r.AskedAt)},
	}
	if r.State == protocol.ApprovalPending {
		facts = append(facts, field{"time left", s.timeLeft(r)})
	}
	if a := r.Answer; a != nil {
		facts = append(facts,
			field{"answered", fmt.Sprintf("%s by %s", stamp(a.At), oneLine(a.By))},
			field{"they said", oneLine(a.Feedback)})
		if a.Always {
			facts = append(facts, field{"for", "the rest of the session"})
		}
	}
	s.fields(&b, facts)
	s.block(&b, "arguments", r.Call.Args)
	if r.Answer != nil && len(r.Answer.Args) > 0 {
		s.block(&b, "arguments as edited", r.Answer.Args)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// block writes a JSON value under its name.
func (s Style) block(b *bytes.Buffer, name string, data []byte) {
	if len(data) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s\n", s.Faint(name))
	indent(b, "    ", JSON(data))
}

func claims(list []tool.Claim) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = fmt.Sprintf("%s (%s)", oneLine(c.Resource), c.Mode)
	}
	return strings.Join(parts, ", ")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// Locks writes who holds what, and who waits for it behind whom.
func (s Style) Locks(w io.Writer, l protocol.Locks) error {
	if len(l.Held)+len(l.Waiting) == 0 {
		_, err := fmt.Fprintln(w, "nothing is locked")
		return err
	}
	var held, waiting [][]Cell
	for _, h := range l.Held {
		note := ""
		if h.Expired {
			note = "being stopped: its time is up"
		}
		held = append(held, []Cell{
			plain(h.Mode.String()), plain(s.ago(h.Since)), plain(h.Holder.Tool), plain(h.Holder.Call),
			plain(fmt.Sprint(h.Holder.Principal)), plain(strings.TrimSpace(h.Resource + "  " + note)),
		})
	}
	for _, q := range l.Waiting {
		behind := q.Behind.Holder
		by := fmt.Sprintf("%s %s", behind.Call, behind.Tool)
		if q.Behind.Queued {
			by += " (waits too)"
		}
		waiting = append(waiting, []Cell{
			plain(q.Mode.String()), plain(s.ago(q.Since)), plain(q.Holder.Tool), plain(q.Holder.Call),
			plain(fmt.Sprint(q.Holder.Principal)), plain(by), plain(q.Resource),
		})
	}
	if len(held) > 0 {
		fmt.Fprintln(w, s.Strong("held"))
		if err := s.Table(w, []string{"MODE", "SINCE", "TOOL", "CALL", "WHO", "RESOURCE"}, held); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	fmt.Fprintln(w, s.Strong("waiting"))
	return s.Table(w, []string{"MODE", "SINCE", "TOOL", "CALL", "WHO", "BEHIND", "RESOURCE"}, waiting)
}
