package render

import (
	"io"
	"strings"

	"callgate/internal/importer"
)

// Imported writes the servers that were found in coding agents' files.
func (s Style) Imported(w io.Writer, found []importer.FoundServer) error {
	if len(found) == 0 {
		return nil
	}
	rows := make([][]Cell, len(found))
	for i, f := range found {
		what := f.Server.URL
		if what == "" {
			what = strings.Join(append([]string{f.Server.Command}, f.Server.Args...), " ")
		}
		if f.Disabled {
			what = "(turned off) " + what
		}
		if len(f.Notes) > 0 {
			what += "  — " + strings.Join(f.Notes, "; ")
		}
		rows[i] = []Cell{{oneLine(f.Server.Name), strong}, plain(f.Source.Client), plain(what)}
	}
	return s.Table(w, []string{"NAME", "FROM", "WHAT"}, rows)
}
