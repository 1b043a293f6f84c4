package sandbox_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/internal/sandbox"
)

func TestEnviron(t *testing.T) {
	for name, value := range map[string]string{
		"PATH": "/bin", "LC_TIME": "fr_FR", "CALLGATE_STATE": "s", "AWS_SECRET_ACCESS_KEY": "s", "GITHUB_TOKEN": "s",
		"LD_PRELOAD": "s", "SSH_AUTH_SOCK": "s", "MY_SETTING": "mine", "PATHOLOGY": "s",
	} {
		t.Setenv(name, value)
	}
	env := sandbox.Environ([]string{"MY_SETTING", "NOT_SET"})
	for _, pair := range []string{"PATH=/bin", "LC_TIME=fr_FR", "MY_SETTING=mine"} {
		if !slices.Contains(env, pair) {
			t.Errorf("%s is not passed on: %q", pair, env)
		}
	}
	for _, pair := range env {
		if strings.HasSuffix(pair, "=s") || strings.HasPrefix(pair, "NOT_SET") {
			t.Errorf("%s is passed on", pair)
		}
	}
}

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
