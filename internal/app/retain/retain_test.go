package retain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/retain"
)

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	tests := map[string]struct {
		text string
		want retain.Rules
		err  string
	}{
		"nothing":      {"app: {app_id: a}\n", retain.Default(), ""},
		"keep all":     {"retain: {}\n", retain.Rules{}, ""},
		"empty":        {"", retain.Rules{}, "the file is empty"},
		"all":          {"retain:\n  journal: {days: 90, records: 1000}\n  artifacts: {megabytes: 2}\n  logs: {days: 3}\n", retain.Rules{Journal: retain.Limit{Age: 90 * day, Most: 1000}, Artifacts: retain.Limit{Most: 2 << 20}, Logs: retain.Limit{Age: 3 * day}}, ""},
		"misspelt":     {"retain: {jornal: {days: 1}}\n", retain.Rules{}, "did you mean journal"},
		"no number":    {"retain: {journal: {days: soon}}\n", retain.Rules{}, ":1:"},
		"zero days":    {"retain: {journal: {days: 0}}\n", retain.Rules{}, ":1:"},
		"not a block":  {"retain: 5\n", retain.Rules{}, ":1:"},
		"not YAML":     {"retain: [\n", retain.Rules{}, "callgate.yaml"},
		"wrong limit":  {"retain: {tasks: {records: 5}}\n", retain.Rules{}, "records"},
		"a list":       {"- a\n", retain.Default(), ""},
		"other blocks": {"nonsense: {x: 1}\nretain: {tasks: {days: 1}}\n", retain.Rules{Tasks: retain.Limit{Age: day}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := retain.Load(write(t, tt.text))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("error: %v", err)
			}
			if got != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
	if got, err := retain.Load(filepath.Join(t.TempDir(), "none.yaml")); err != nil || got != retain.Default() {
		t.Errorf("without a file: %+v, %v", got, err)
	}
}

// A project's file does not say how long the user's records are kept.
func TestProjectRefused(t *testing.T) {
	t.Parallel()
	path := write(t, "app: {app_id: a}\nretain: {journal: {days: 1}}\n")
	_, err := app.LoadWith(path, app.KnownModules{}, app.Vars{})
	if err == nil || !strings.Contains(err.Error(), "callgate.yaml:2:") || !strings.Contains(err.Error(), "your own app file") {
		t.Errorf("a project's retain: %v", err)
	}
	if _, err := app.LoadWith(path, app.KnownModules{}, app.Vars{IsUser: true}); err != nil {
		t.Errorf("the user's: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("retain: {journal: {days: 90}}")
	f.Add("retain: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		if rules, err := retain.Load(write(t, text)); err != nil && rules.Any() {
			t.Errorf("rules with an error: %+v, %v", rules, err)
		}
	})
}
