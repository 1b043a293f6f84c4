package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/statedir"
	"callgate/tool"
)

func TestOpenStorage(t *testing.T) {
	t.Parallel()
	state, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "other.db")
	dir, err := statedir.At(state)
	if err != nil {
		t.Fatal(err)
	}
	for place, file := range map[string]string{"": dir.Database(), elsewhere: elsewhere} {
		d, err := openStorage(t.Context(), place, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%q: %v", place, err)
		}
	}
	for place, want := range map[string]struct {
		kind tool.Kind
		text string
	}{
		"postgres://db/callgate":   {tool.Unavailable, "not built in yet"},
		"postgresql://db/callgate": {tool.Unavailable, "not built in yet"},
		"mysql://db":               {tool.Invalid, "mysql"},
	} {
		if _, err := openStorage(t.Context(), place, dir); tool.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%q: %v", place, err)
		}
	}
}
