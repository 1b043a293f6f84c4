package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A value that is typed at a terminal is not shown, and the terminal is as it
// was afterwards, also for who gave up.
func TestSecretAtATerminal(t *testing.T) {
	t.Parallel()
	const typed = "typed-by-a-person"
	quiet := []string{"CALLGATE_KEYRING=off"}
	state := filepath.Join(t.TempDir(), "s")
	p := onTerminal(t, state, quiet, "secret", "set", "hub_token")
	p.sees("the value of hub_token")
	p.hides()
	p.types(typed + "\n")
	p.sees("set hub_token")
	p.ends(0)
	if strings.Contains(p.all.String(), typed) {
		t.Errorf("the terminal shows it: %q", p.all.String())
	}
	p = onTerminal(t, state, quiet, "secret", "list")
	p.sees("hub_token")
	p.ends(0)

	p = onTerminal(t, state, quiet, "secret", "set", "other")
	p.sees("the value of other")
	p.hides()
	p.types("half-a-val\x03")
	p.sees("nothing was set")
	if !p.echoes() {
		t.Error("the terminal no longer shows what is typed")
	}
	p.ends(130)

	for _, c := range []struct{ answer, shows string }{{"n", ""}, {"y", "deleted hub_token"}} {
		p = onTerminal(t, state, quiet, "secret", "delete", "hub_token")
		p.sees("Delete the secret hub_token?")
		p.types(c.answer + "\n")
		p.sees(c.shows)
		p.ends(0)
	}
	p = onTerminal(t, state, quiet, "secret", "list")
	p.ends(0)
	if strings.Contains(p.all.String(), "hub_token") {
		t.Errorf("it is still there: %s", p.all.String())
	}
}

// echoes reports whether the terminal shows what is typed.
func (p *tty) echoes() bool {
	p.t.Helper()
	var on bool
	control(p.t, p.master, func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		on = err == nil && state.Lflag&unix.ECHO != 0
		return err
	})
	return on
}

// hides waits until it does not.
func (p *tty) hides() {
	p.t.Helper()
	if !poll(time.Minute, func() bool { return !p.echoes() }) {
		p.t.Fatal("the terminal shows what is typed")
	}
}
