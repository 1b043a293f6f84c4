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
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
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
// kernel, asked or killed. Without its client the turn ends: the exit code and the
// command that it names are right, the history says why the turn ended, and that command
// goes on with it. Without its kernel the client goes on at the next one by itself, as a
// chat does, and the model is told what became of the call.
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
			kernel: syscall.SIGKILL,
			says:   []string{client.GoesOn},
			last:   "done", shows: "it may or may not have happened",
			goesOn: 2, told: `callgate sessions resume ID -p "…"`,
		},
		"kernel asked to stop": {
			kernel: syscall.SIGTERM,
			says:   []string{client.GoesOn},
			last:   "done", shows: "the turn was interrupted: its kernel closed",
			goesOn: 2, told: `callgate sessions resume ID -p "…"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := filepath.Join(t.TempDir(), "s")
			kernel := up(t, state)
			cmd := start(t, state, "run", onlyDemo(t), "-p", `wait, path="x"`)
			untilSays(t, state, "demo.wait", "locks")
			id, last := lastConversation(t, state)
			if last != "" {
				t.Errorf("a running turn is %q", last)
			}
			if c.client != 0 {
				_ = cmd.Process.Signal(c.client)
			} else {
				_ = kernel.Process.Signal(c.kernel)
			}
			if code := cmd.ends(t); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, cmd.err.String())
			}
			for _, want := range c.says {
				if want = strings.ReplaceAll(want, "ID", id); !strings.Contains(cmd.err.String(), want) {
					t.Errorf("it does not say %q: %s", want, cmd.err.String())
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

// Two commands run at the same time, and the first to end leaves the other's turn alone.
// No kernel is left when both have ended.
func TestRunsDoNotEndEachOther(t *testing.T) {
	t.Parallel()
	state, app := filepath.Join(t.TempDir(), "s"), onlyDemo(t)
	pending := func(n int) (list []protocol.Approval) {
		t.Helper()
		if !poll(time.Minute, func() bool { // a command would start a kernel of its own, and end it
			c := client.New(client.Options{Dial: client.Unix(statedir.Dir(state).Socket())})
			defer c.Close()
			list, _ = c.Approvals(t.Context(), protocol.ApprovalPending)
			return len(list) == n
		}) {
			t.Fatalf("%d approvals are pending, want %d", len(list), n)
		}
		return list
	}
	deny := func(id string) {
		t.Helper()
		if code, _, errs := inProcess(t, state, "", "approvals", "deny", id); code != 0 {
			t.Fatal(errs)
		}
	}
	first := start(t, state, "run", app, "--wait", "-p", `risky, path="x"`)
	id := pending(1)[0].ID
	second := start(t, state, "run", app, "--wait", "-p", `risky, path="y"`)
	pending(2)
	deny(id)
	if code := first.ends(t); code != 0 {
		t.Errorf("the first ended with %d: %s", code, first.err.String())
	}
	deny(pending(1)[0].ID)
	if code := second.ends(t); code != 0 || strings.Contains(second.err.String(), client.GoesOn) {
		t.Errorf("the second ended with %d: %s", code, second.err.String())
	}
	held, err := statedir.Dir(state).Hold()
	if err != nil {
		t.Fatalf("a kernel is left: %v", err)
	}
	_ = held.Release()
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
			cmd := start(t, state, append([]string{"run", onlyDemo(t), "--wait", "-p", `risky, path="x"`}, how...)...)
			untilSays(t, state, "pending", "approvals", "list")
			_, out, _ := inProcess(t, state, "", "approvals", "list", "--json")
			var list []struct{ ID string }
			if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
			if code, _, errs := inProcess(t, state, "", "approvals", "deny", list[0].ID); code != 0 {
				t.Fatal(errs)
			}
			if code := cmd.ends(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			said := cmd.err.String()
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
