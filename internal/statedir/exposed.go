package statedir

import (
	"fmt"
	"os"
	"path/filepath"

	"callgate/internal/ownership"
)

// Exposed says which of the files that must be the user's alone others may read or
// write, and what to do: one sentence each.
func (d Dir) Exposed() []string {
	var list []string
	for _, path := range []string{
		d.humanKey(), d.JournalKey(), d.Secrets(), filepath.Join(string(d), "secrets.key"),
		d.Database(), d.Database() + "-wal", d.Anchor(), d.DatabaseURL(),
	} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if p := ownership.Secret(path, info); p != nil {
			list = append(list, fmt.Sprintf("%v; %s", p, p.Fix))
		}
	}
	return list
}
