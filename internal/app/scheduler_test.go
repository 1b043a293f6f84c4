package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/app"
)

func TestScheduler(t *testing.T) {
	for text, want := range map[string]*app.Scheduler{
		"runtime: {}\n":                 nil,
		"runtime: {scheduler: false}\n": nil,
		"runtime: {scheduler: true}\n":  {MaxJobs: 500},
		"runtime: {scheduler: {}}\n":    {MaxJobs: 500},
		"runtime: {scheduler: {max_jobs: 20, timezone: europe/berlin}}\n": {MaxJobs: 20, Timezone: "Europe/Berlin"},
	} {
		a, err := app.Parse("callgate.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, a.Runtime.Scheduler); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if on := len(a.Features()) == 1; on != (want != nil) {
			t.Errorf("%s turns on %v", text, a.Features())
		}
	}
}
