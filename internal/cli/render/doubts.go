package render

import (
	"io"

	"callgate/internal/protocol"
)

// Doubts lists calls that may or may not have happened.
func (s Style) Doubts(w io.Writer, list []protocol.Record) error {
	rows := make([][]Cell, len(list))
	for i, r := range list {
		rows[i] = []Cell{plain(r.Call), plain(name(r)), plain(who(r)), plain(stamp(r.Time)), plain(r.Note)}
	}
	return s.Table(w, []string{"CALL", "TOOL", "WHO", "FOUND", "WHAT IS KNOWN"}, rows)
}
