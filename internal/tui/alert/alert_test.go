package alert_test

import (
	"strings"
	"testing"
	"time"

	"callgate/internal/tui/alert"
)

func TestCall(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		mode    alert.Mode
		prepare func(*alert.Watch)
		bell    bool
		desktop bool
	}{
		"looks elsewhere":            {alert.Desktop, func(w *alert.Watch) { w.Key(now); w.Focus(false) }, true, true},
		"is there":                   {alert.Desktop, func(w *alert.Watch) { w.Focus(false); w.Focus(true) }, false, false},
		"off":                        {alert.Off, func(w *alert.Watch) { w.Focus(false) }, false, false},
		"bell only":                  {alert.Bell, func(w *alert.Watch) { w.Focus(false) }, true, false},
		"no reports, typed just now": {alert.Desktop, func(w *alert.Watch) { w.Key(now.Add(-time.Second)) }, false, false},
		"no reports, long ago":       {alert.Desktop, func(w *alert.Watch) { w.Key(now.Add(-time.Minute)) }, true, true},
	} {
		w := alert.Watch{Mode: c.mode}
		c.prepare(&w)
		got := w.Call(now, "the turn\x1b]0;x\a has; ended")
		if strings.HasSuffix(got, "\a") != c.bell || strings.Contains(got, "\x1b]9;") != c.desktop {
			t.Errorf("%s: %q", name, got)
		}
		if strings.Contains(got, "\x1b]0;") || strings.Count(got, "\a") > 1 {
			t.Errorf("%s: the text is obeyed: %q", name, got)
		}
	}
}

func TestParseMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]alert.Mode{"": alert.Desktop, "off": alert.Off, " Bell ": alert.Bell, "on": alert.Desktop} {
		if got, ok := alert.ParseMode(text); !ok || got != want {
			t.Errorf("%q is %q, %v", text, got, ok)
		}
	}
	if _, ok := alert.ParseMode("loud"); ok {
		t.Error("an unknown mode is taken")
	}
}
