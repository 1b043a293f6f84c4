package render

import (
	"fmt"
	"io"

	"callgate/internal/protocol/operations"
	"callgate/internal/visible"
)

// Learned writes the requests that searches taught.
func Learned(s Style, w io.Writer, list []operations.LearnedRequest) error {
	rows := make([][]Cell, len(list))
	for i, one := range list {
		rows[i] = []Cell{
			Bold(one.Tool), Plain(visible.Text(one.Request)), Plain(fmt.Sprint(one.Seen)), Plain(s.ago(one.Last)),
		}
	}
	return s.Table(w, []string{"TOOL", "REQUEST", "SEEN", "LAST"}, rows)
}
