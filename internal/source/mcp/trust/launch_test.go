package trust_test

import (
	"strings"
	"testing"

	"callgate/internal/source/mcp/trust"
	"callgate/tool"
)

func TestLaunch(t *testing.T) {
	t.Parallel()
	s := open(t)
	line := []string{"npx", "-y", "some server", "--root=/tmp"}
	err := s.MayLaunch(key, line)
	if tool.KindOf(err) != tool.Denied {
		t.Fatalf("a command nobody accepted: %v", err)
	}
	for _, has := range []string{"npx -y 'some server' --root=/tmp", "callgate mcp trust 'app.yaml#files'"} {
		if !strings.Contains(err.Error(), has) {
			t.Errorf("%q does not say %q", err, has)
		}
	}
	if err := s.AcceptLaunch(key, line, "ada"); err != nil {
		t.Fatal(err)
	}
	if err := s.MayLaunch(key, line); err != nil {
		t.Errorf("the accepted command: %v", err)
	}
	if err := s.MayLaunch("other.yaml#files", line); tool.KindOf(err) != tool.Denied {
		t.Errorf("the same command for another server: %v", err)
	}
	changed := []string{"npx", "-y", "some server", "--root=/tmp", "--share=\u202e/"}
	err = s.MayLaunch(key, changed)
	if tool.KindOf(err) != tool.Denied {
		t.Fatalf("a changed command: %v", err)
	}
	for _, has := range []string{"ada", "it was: npx -y 'some server' --root=/tmp ;", "'--share=⟨U+202E⟩/'"} {
		if !strings.Contains(err.Error(), has) {
			t.Errorf("%q does not say %q", err, has)
		}
	}
	// Accepting a command is not seeing the tools.
	if v, err := s.Review(key, defs("add: Adds."), trust.Options{}); err != nil || brief(v) != "+add" {
		t.Errorf("the first sight after accepting the command: %s, %v", brief(v), err)
	}
	if err := s.MayLaunch(key, line); err != nil {
		t.Errorf("the review forgot the command: %v", err)
	}
}

func TestLaunchOfNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, err := range map[string]error{
		"no server":    s.MayLaunch("", []string{"x"}),
		"no command":   s.MayLaunch(key, nil),
		"nobody":       s.AcceptLaunch(key, []string{"x"}, ""),
		"not a key":    s.AcceptLaunch("\xff", []string{"x"}, "ada"),
		"not a line":   s.AcceptLaunch(key, nil, "ada"),
		"not UTF-8":    s.AcceptLaunch(key, []string{"\xff"}, "ada"),
		"not reviewed": func() error { _, err := s.Review("\xff", defs("add: Adds."), trust.Options{}); return err }(),
	} {
		if tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	for want, line := range map[string][]string{
		"node server.js --a=b":         {"node", "server.js", "--a=b"},
		"sh -c 'a | b; c'":             {"sh", "-c", "a | b; c"},
		"echo '' 'it'\\''s' '$HOME'":   {"echo", "", "it's", "$HOME"},
		"'~/bin/x' 'a⟨U+000A⟩b' 'ü'":   {"~/bin/x", "a\nb", "ü"},
		"x '⟨U+001B⟩[2J' '⟨U+200B×2⟩'": {"x", "\x1b[2J", "\u200b\u200b"},
	} {
		if got := trust.Shell(line); got != want {
			t.Errorf("%q is written %s, want %s", line, got, want)
		}
	}
}
