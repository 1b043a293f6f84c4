package desktop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/channel"
	"callgate/tool"
)

// program is one that writes its arguments to a file.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "show")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSend(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	path := program(t, `printf '%s|' "$@" > `+out+"\n")
	find := func(string) (string, error) { return path, nil }
	m := channel.Message{App: "shop", Title: "-e evil", Text: "<b>a</b> & \"quit\"\n$(x)"}
	for system, want := range map[string]string{
		"linux": "--app-name=callgate|--|-e evil|&lt;b&gt;a&lt;/b&gt; &amp; \"quit\"\n$(x)|",
		"darwin": "-e|on run argv|-e|display notification (item 2 of argv) with title (item 1 of argv)|-e|end run|" +
			"callgate: -e evil|<b>a</b> & \"quit\"\n$(x)|",
	} {
		s := &Sender{system, find}
		if err := errors.Join(s.Check(), s.Send(t.Context(), m)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(out); string(got) != want {
			t.Errorf("%s: %s", system, got)
		}
	}
}

func TestAbsent(t *testing.T) {
	none := func(name string) (string, error) { return "", errors.New("no " + name) }
	for system, want := range map[string]string{"linux": "no notify-send", "darwin": "no osascript", "windows": "on windows"} {
		s := &Sender{system, none}
		err := s.Check()
		if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), want) || tool.KindOf(s.Send(t.Context(), channel.Message{})) != tool.Failed {
			t.Errorf("%s: %v", system, err)
		}
	}
	path := program(t, "echo no bus >&2; exit 1\n")
	s := &Sender{"linux", func(string) (string, error) { return path, nil }}
	if err := s.Send(t.Context(), channel.Message{}); tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "no bus") {
		t.Errorf("%v", err)
	}
}
