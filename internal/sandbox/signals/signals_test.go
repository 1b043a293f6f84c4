package signals_test

import (
	"strings"
	"testing"

	"callgate/internal/sandbox/signals"
	"callgate/tool"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"SIGINT": "SIGINT", "int": "SIGINT", " sigterm ": "SIGTERM", "Ctrl+C": "SIGINT", "ctrl-c": "SIGINT", "^C": "SIGINT",
		"KILL": "SIGKILL", "hup": "SIGHUP", "9": "", "": "", "SIGSEGV": "", "SIG": "",
	} {
		got, err := signals.Parse(text)
		if got != want || (want == "") != (tool.KindOf(err) == tool.Invalid) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("SIGINT")
	f.Add("ctrl c")
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := signals.Parse(text); err == nil && !strings.HasPrefix(name, "SIG") || err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%q: %q, %v", text, name, err)
		}
	})
}
