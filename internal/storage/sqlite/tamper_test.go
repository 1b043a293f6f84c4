package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"callgate/internal/journal"
)

// TestVerifyFindsTampering damages a journal of 10,000 records in its file, as
// someone with an SQL prompt would, and restores it after each try.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	const records = tampered
	s := openState(t, t.TempDir())
	s.fill(t, records/2)
	s.close(t)
	if report := verify(t, s); !report.OK() || report.Records != records+1 {
		t.Fatalf("before any damage: %+v", report)
	}
	saved, err := os.ReadFile(s.path())
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	somewhere := func() int { return 2 + rng.IntN(records-4) } // not the last two
	type damage struct {
		name string
		sql  []string
		seq  uint64 // of a problem that must be found
	}
	var all []damage
	add := func(name string, seq int, sql ...string) {
		all = append(all, damage{fmt.Sprintf("%s at %d", name, seq), sql, uint64(seq)})
	}
	for _, seq := range []int{1, 2, somewhere(), records, records + 1} {
		add("flipped body", seq, flipSQL("body", seq, 1+rng.IntN(100)))
		add("flipped hash", seq, flipSQL("hash", seq, 1+rng.IntN(32)))
	}
	n := somewhere()
	add("changed kind", n, fmt.Sprintf("UPDATE records SET kind = 'asked' WHERE seq = %d", n))
	add("changed call", n, fmt.Sprintf("UPDATE records SET call = 'call-0' || call WHERE seq = %d", n))
	add("changed epoch", n, fmt.Sprintf("UPDATE records SET epoch = 2 WHERE seq = %d", n))
	for _, seq := range []int{1, 2, somewhere(), records} {
		add("dropped", seq, fmt.Sprintf("DELETE FROM records WHERE seq = %d", seq))
	}
	for _, seq := range []int{1, somewhere(), records} {
		add("swapped", seq, fmt.Sprintf("UPDATE records SET seq = -1 WHERE seq = %d", seq),
			fmt.Sprintf("UPDATE records SET seq = %d WHERE seq = %d", seq, seq+1),
			fmt.Sprintf("UPDATE records SET seq = %d WHERE seq = -1", seq+1))
	}
	for _, seq := range []int{1, somewhere(), records, records + 1} {
		add("cut from", seq, fmt.Sprintf("DELETE FROM records WHERE seq >= %d", seq))
	}
	add("renumbered", n, fmt.Sprintf("DELETE FROM records WHERE seq = %d", n),
		fmt.Sprintf("UPDATE records SET seq = -seq WHERE seq > %d", n), "UPDATE records SET seq = -seq - 1 WHERE seq < 0")
	for _, d := range all {
		if err := os.WriteFile(s.path(), saved, 0o600); err != nil {
			t.Fatal(err)
		}
		db := raw(t, s.path())
		run(t, db, d.sql...)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		report := verify(t, s)
		if !slices.ContainsFunc(report.Problems, func(p journal.Problem) bool { return p.Seq == d.seq }) {
			t.Errorf("%s: found %+v", d.name, report.Problems)
		}
	}
}

// flipSQL changes one byte of a blob, counted from 1.
func flipSQL(column string, seq, at int) string {
	flipped := fmt.Sprintf(
		"printf('%%02x', 255 - (instr('0123456789ABCDEF', substr(hex(substr(%[1]s, %[2]d, 1)), 1, 1)) - 1) * 16 - instr('0123456789ABCDEF', substr(hex(substr(%[1]s, %[2]d, 1)), 2, 1)) + 1)",
		column,
		at,
	)
	return fmt.Sprintf(
		"UPDATE records SET %[1]s = CAST(substr(%[1]s, 1, %[2]d - 1) || unhex(%[3]s) || substr(%[1]s, %[2]d + 1) AS BLOB) WHERE seq = %[4]d",
		column,
		at,
		flipped,
		seq,
	)
}

func TestForgedDropIsFound(t *testing.T) {
	t.Parallel()
	s := openState(t, t.TempDir())
	s.fill(t, 50)
	s.close(t)
	// Whoever removes the beginning must explain it, and cannot sign.
	db := raw(t, s.path())
	zero := strings.Repeat("A", 43) + "="
	forged := `{"from_epoch":1,"to_epoch":1,"first_seq":1,"last_seq":10,"calls":5,"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z","at":"2026-01-01T00:00:00Z","before":"` + zero + `","head":"` + zero + `","signature":"AAAA"}`
	run(t, db, "INSERT INTO drops VALUES (10, CAST('"+forged+"' AS BLOB))", "DELETE FROM records WHERE seq <= 10")
	report := verify(t, s)
	if !slices.ContainsFunc(report.Problems, func(p journal.Problem) bool { return strings.Contains(p.What, "key") }) {
		t.Fatalf("a forged summary: %+v", report.Problems)
	}
}
