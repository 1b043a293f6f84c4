package recovery_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/recovery"
)

// The list of open doubts is not protected by the chain of records: whoever changes it
// in the file is found out by comparing the two.
func TestVerifyDoubts(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"": "",
		"DELETE FROM doubts WHERE call = 'c000003'":                                    "call c000003 is in doubt by its records, and the list",
		"UPDATE doubts SET state = 'told' WHERE call = 'c000003'":                      "judged by its records, and told in the list",
		"INSERT INTO doubts SELECT 'c9', 1, 'new'":                                     "names record 1, which puts no call in doubt",
		"UPDATE doubts SET seq = (SELECT max(seq) FROM doubts) WHERE call = 'c000003'": "call c000003",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			state := kerneltest.StateDir(t)
			j := withDoubts(t, state, 10, func(i int) bool { return i%2 == 0 })
			if change != "" {
				db, err := sql.Open("sqlite", filepath.Join(state, "callgate.db"))
				ok(t, err)
				_, err = db.ExecContext(t.Context(), change)
				ok(t, err)
				ok(t, db.Close())
			}
			problems, err := recovery.VerifyDoubts(t.Context(), j)
			ok(t, err)
			var text strings.Builder
			for _, p := range problems {
				text.WriteString(p.What + "\n")
			}
			if (want == "") != (len(problems) == 0) || !strings.Contains(text.String(), want) {
				t.Errorf("%q, want %q", text.String(), want)
			}
		})
	}
}
