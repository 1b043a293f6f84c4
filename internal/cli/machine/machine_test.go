package machine

import (
	"testing"

	"callgate/internal/cli/doctor"
	"callgate/internal/cli/render"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		check doctor.Check
		want  string
	}{
		{"found", doctor.Check{State: doctor.OK, Found: "2.43", Purpose: "git"}, "2.43"},
		{"a warning", doctor.Check{State: doctor.Warning, Found: "old", Purpose: "git"}, "old"},
		{"broken", doctor.Check{State: doctor.Broken, Found: "no key"}, "no key"},
		{"missing", doctor.Check{State: doctor.Missing, Purpose: "the browser module"}, "optional, for the browser module"},
		{"missing, and why", doctor.Check{State: doctor.Missing, Found: "too old", Purpose: "git"}, "too old; optional, for git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := summary(tt.check); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Without colour the marks alone must tell the states apart.
func TestMarks(t *testing.T) {
	t.Parallel()
	seen := map[string]doctor.State{}
	for _, state := range []doctor.State{doctor.OK, doctor.Missing, doctor.Warning, doctor.Broken} {
		m := mark(render.Style{}, state)
		if other, taken := seen[m]; taken || m == "" {
			t.Errorf("%v and %v are both %q", state, other, m)
		}
		seen[m] = state
	}
}

func TestThisBuild(t *testing.T) {
	t.Parallel()
	if b := thisBuild(); b.Version == "" || b.Protocol == 0 {
		t.Errorf("this build has no version: %+v", b)
	}
}

func TestBuildInLine(t *testing.T) {
	t.Parallel()
	plain := buildInfo{Version: "1.2", Go: "go1.26", OS: "linux", Arch: "amd64", Protocol: 3}
	if got, want := plain.String(), "callgate 1.2, protocol 3, go1.26, linux/amd64"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	built := plain
	built.Revision, built.Modified = "0123456789abcdef", true
	if got, want := built.String(), plain.String()+", revision 0123456789ab with changes"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
