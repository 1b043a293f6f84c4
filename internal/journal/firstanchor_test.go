package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/journal"
)

// snapshotting keeps the anchor as it is when rows are first appended: what a
// crash right after the very first record would leave.
type snapshotting struct {
	*memory
	anchor string
	kept   []byte
}

func (s *snapshotting) Append(ctx context.Context, rows []journal.Row) error {
	if s.kept == nil {
		s.kept, _ = os.ReadFile(s.anchor)
	}
	return s.memory.Append(ctx, rows)
}

func TestCrashRightAfterTheFirstRecord(t *testing.T) {
	opts := journal.Options{Anchor: filepath.Join(t.TempDir(), "anchor")}
	store := &snapshotting{memory: &memory{}, anchor: opts.Anchor}
	j := open(t, store, opts)
	commit(t, j, asked("a"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(opts.Anchor, store.kept, 0o600); err != nil {
		t.Fatal(err)
	}
	j = open(t, store, opts)
	commit(t, j, asked("b"))
	report, err := j.Verify(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
}
