package render

import (
	"fmt"
	"io"
	"strings"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Locks writes the locks that are held, and those that wait with the lock they
// wait for.
func (s Style) Locks(w io.Writer, l protocol.Locks) error {
	if len(l.Held)+len(l.Waiting) == 0 {
		_, err := fmt.Fprintln(w, "nothing is locked")
		return err
	}
	if len(l.Held) > 0 {
		fmt.Fprintln(w, s.Strong("held"))
		head := []string{"MODE", "SINCE", "TOOL", "CALL", "WHO", "RESOURCE"}
		if err := s.Table(w, head, heldRows(s, l.Held)); err != nil {
			return err
		}
	}
	if len(l.Waiting) == 0 {
		return nil
	}
	fmt.Fprintln(w, s.Strong("waiting"))
	head := []string{"MODE", "SINCE", "TOOL", "CALL", "WHO", "BEHIND", "RESOURCE"}
	return s.Table(w, head, waitingRows(s, l.Waiting))
}

func heldRows(s Style, list []protocol.HeldLock) [][]Cell {
	rows := make([][]Cell, len(list))
	for i, h := range list {
		note := ""
		if h.Expired {
			note = "being stopped: out of time"
		}
		rows[i] = []Cell{
			Plain(modeName(h.Mode)), Plain(s.ago(h.Since)), Plain(h.Holder.Tool), Plain(h.Holder.Call),
			Plain(fmt.Sprint(h.Holder.Principal)), Plain(strings.TrimSpace(h.Resource + "  " + note)),
		}
	}
	return rows
}

func waitingRows(s Style, list []protocol.WaitingLock) [][]Cell {
	rows := make([][]Cell, len(list))
	for i, q := range list {
		behind := fmt.Sprintf("%s %s", q.Behind.Holder.Call, q.Behind.Holder.Tool)
		if q.Behind.Queued {
			behind += " (waiting)"
		}
		rows[i] = []Cell{
			Plain(modeName(q.Mode)), Plain(s.ago(q.Since)), Plain(q.Holder.Tool), Plain(q.Holder.Call),
			Plain(fmt.Sprint(q.Holder.Principal)), Plain(behind), Plain(q.Resource),
		}
	}
	return rows
}

// modeName is a lock mode in words; callgate locks --help explains them.
func modeName(m tool.Mode) string {
	switch m {
	case tool.IS:
		return "shared inside"
	case tool.IX:
		return "exclusive inside"
	case tool.S:
		return "shared"
	case tool.U:
		return "update"
	case tool.X:
		return "exclusive"
	}
	return m.String()
}
