package recovery_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal/doubt"
	"callgate/internal/kernel/kerneltest"
)

// A call made a file before it was cut off, and a person removed the file: it stays
// removed.
func TestRemovedFileIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{torn: true}
	long := time.Now().Add(-time.Hour)
	ok(t, os.Chtimes(workspace, long, long))
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	file := filepath.Join(workspace, "x")
	ok(t, os.Remove(file))
	k := kerneltest.Open(t, left, p.tool(t, workspace))
	kerneltest.Eventually(t, func() bool {
		undecided, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{State: doubt.New})
		return err == nil && len(undecided) == 0
	})
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) || p.ran() != 0 {
		t.Errorf("it was made again %d times, and the file is there: %v", p.ran(), err)
	}
	if told := told(t, k, workspace); len(told) != 1 || !strings.Contains(told[0], "may or may not have happened; look") &&
		!strings.Contains(told[0], "file:"+workspace+"/x; look") {
		t.Errorf("told %q", told)
	}
}
