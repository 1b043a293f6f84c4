//go:build unix

package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// lastConversation is what sessions list says of the newest conversation.
func lastConversation(t *testing.T, state string) (id, last string) {
	t.Helper()
	var list []struct{ ID, Last string }
	_, out, errs := inProcess(t, state, "", "sessions", "list", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	return list[0].ID, list[0].Last
}

// onlyDemo is an app file whose agent has the tools of this program and no others.
func onlyDemo(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "demo.yaml")
	if err := os.WriteFile(file, []byte("tools: {modules: {}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A turn that somebody or something ends in the middle of a call: its client or its
// kernel, asked or killed. The client's exit code and the command that it names are
// right, the history says why the turn ended, and that command goes on with it.
func TestTurnCutOffInItsCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client, kernel syscall.Signal
		code           int      // of the client
		says           []string // on its standard error
		last           string   // in the list
		shows          string   // in the history
		goesOn         int      // exit code of sessions resume without a prompt
		told           string   // by that command
	}{
		"client killed": {
			client: syscall.SIGKILL, code: -int(syscall.SIGKILL),
			last: "interrupted", shows: "the turn was interrupted: its client went away", told: "demo.wait failed",
		},
		"client asked to stop": {
			client: syscall.SIGINT, code: 130, says: []string{`stopped; continue with: callgate sessions resume ID -p "…"`},
			last: "cancelled", shows: "the turn was stopped",
			goesOn: 2, told: `callgate sessions resume ID -p "…"`,
		},
		"kernel killed": {
			kernel: syscall.SIGKILL, code: 8,
			says: []string{"the kernel went away", "kept", "demo__wait may or may not have happened", "callgate sessions resume ID"},
			last: "interrupted", shows: "the turn was interrupted: its kernel ended", told: "may or may not have happened",
		},
		"kernel asked to stop": {
			kernel: syscall.SIGTERM, code: 7, says: []string{"its kernel closed", "callgate sessions resume ID"},
			last: "interrupted", shows: "the turn was interrupted: its kernel closed", told: "demo.wait failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			kernel := up(t, state)
			client := start(t, state, "run", onlyDemo(t), "-p", `wait, path="x"`)
			untilSays(t, state, "demo.wait", "locks")
			id, last := lastConversation(t, state)
			if last != "" {
				t.Errorf("a running turn is %q", last)
			}
			if c.client != 0 {
				_ = client.Process.Signal(c.client)
			} else {
				_ = kernel.Process.Signal(c.kernel)
			}
			if code := client.ends(t); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, client.err.String())
			}
			for _, want := range c.says {
				if want = strings.ReplaceAll(want, "ID", id); !strings.Contains(client.err.String(), want) {
					t.Errorf("it does not say %q: %s", want, client.err.String())
				}
			}
			if c.kernel != 0 {
				kernel.ends(t)
			}
			untilSays(t, state, c.shows, "sessions", "show", id)
			if _, last := lastConversation(t, state); last != c.last {
				t.Errorf("the list says %q, want %q", last, c.last)
			}
			code, out, errs := inProcess(t, state, "", "sessions", "resume", id)
			if want := strings.ReplaceAll(c.told, "ID", id); code != c.goesOn || !strings.Contains(out+errs, want) {
				t.Errorf("exit code %d, want %d and %q: %s%s", code, c.goesOn, want, out, errs)
			}
			if _, last := lastConversation(t, state); c.goesOn == 0 && last != "done" {
				t.Errorf("at last the list says %q", last)
			}
		})
	}
}

// A turn that needs a human, where there is none: it says so at once, and how to
// answer, and goes on when somebody elsewhere did.
func TestTurnWaitsForAHumanElsewhere(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{nil, {"-q"}, {"--json"}} {
		t.Run(strings.Join(how, ""), func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			up(t, state)
			client := start(t, state, append([]string{"run", onlyDemo(t), "--wait", "-p", `risky, path="x"`}, how...)...)
			untilSays(t, state, "pending", "approvals", "list")
			_, out, _ := inProcess(t, state, "", "approvals", "list", "--json")
			var list []struct{ ID string }
			if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
			if code, _, errs := inProcess(t, state, "", "approvals", "deny", list[0].ID); code != 0 {
				t.Fatal(errs)
			}
			if code := client.ends(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			said := client.err.String()
			if !strings.Contains(said, "demo.risky waits for a human, for ") ||
				!strings.Contains(said, "callgate approvals approve "+list[0].ID) {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// A turn that needs a human, where there is none and none is waited for: the call is
// refused at once, the flag that would allow it is named, and the exit code says so.
func TestTurnRefusesWhatNobodyCanAnswer(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{nil, {"-q"}, {"--json"}} {
		t.Run(strings.Join(how, ""), func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			code, _, errs := inProcess(t, state, "", append([]string{"run", onlyDemo(t), "-p", `risky, path="x"`}, how...)...)
			if code != 9 || !strings.Contains(errs, "demo.risky was not run: it needs a human, and there is no terminal here") ||
				!strings.Contains(errs, "--wait") {
				t.Errorf("exit code %d, it says %s", code, errs)
			}
			_, out, _ := inProcess(t, state, "", "approvals", "list", "--all", "--json")
			if !strings.Contains(out, `"state": "denied"`) || !strings.Contains(out, "nobody is there to answer") {
				t.Errorf("on record is %s", out)
			}
		})
	}
}

// What a conversation may do unasked is a human's to say: a script without a terminal
// has no way but a token.
func TestScriptCannotLoosenAConversation(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	script := func(args ...string) (int, string) {
		p := &process{Cmd: exec.Command("callgate", args...)}
		p.Env = append(os.Environ(), "CALLGATE_STATE="+state, "GORACE="+quickRace)
		p.Dir, p.Stdout, p.Stderr = t.TempDir(), &p.out, &p.err
		p.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // whoever runs the test may sit at a terminal
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		return p.ends(t), p.out.String() + p.err.String()
	}
	for _, flags := range [][]string{{"--allow", "demo.risky"}, {"--mode", "accept-edits"}, {"--allow", "*"}} {
		code, said := script(append([]string{"run", onlyDemo(t), "-p", `risky, path="x"`}, flags...)...)
		if flags[1] == "*" {
			if code != 2 || !strings.Contains(said, "names no tool") {
				t.Errorf("%v: exit code %d, it says %s", flags, code, said)
			}
			continue
		}
		if code != 3 || !strings.Contains(said, "is for a human to say") || !strings.Contains(said, "callgate token create --role approver") {
			t.Errorf("%v: exit code %d, it says %s", flags, code, said)
		}
	}
	if _, said := script("sessions", "list", "--json"); strings.TrimSpace(said) != "[]" {
		t.Errorf("a conversation was left: %s", said)
	}
	if code, said := script("run", onlyDemo(t), "--mode", "plan", "-p", `risky, path="x"`); code != 0 || !strings.Contains(said, "plan mode") {
		t.Errorf("--mode plan: exit code %d, it says %s", code, said)
	}
}
