package sandbox_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"callgate/internal/sandbox"
)

func TestProbe(t *testing.T) {
	r := sandbox.Probe()
	if r.OS != runtime.GOOS || r.Level == "" {
		t.Errorf("%+v", r)
	}
	if r.Level != sandbox.Full && len(r.Notes) == 0 {
		t.Errorf("level %s, and no word about what is missing", r.Level)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	r.Notes = append(r.Notes, "changed")
	if slices.Contains(sandbox.Probe().Notes, "changed") {
		t.Error("a caller can change a report that others share")
	}
}
