package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox"
)

// tty is the program on a pseudo-terminal of its own.
type tty struct {
	t       *testing.T
	cmd     *exec.Cmd
	master  *os.File
	heard   chan string
	unheard string
	all     strings.Builder
}

func onTerminal(t *testing.T, state string, env []string, args ...string) *tty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	var number int
	control(t, master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	cmd := exec.Command("callgate", args...)
	cmd.Env = append(append(os.Environ(), "CALLGATE_STATE="+state, "NO_COLOR=1", "GORACE="+quickRace), env...)
	cmd.Dir = t.TempDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killAndWait(cmd.Process) })
	p := &tty{t: t, cmd: cmd, master: master, heard: make(chan string, 64)}
	go func() {
		defer close(p.heard)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if n > 0 {
				p.heard <- string(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return p
}

func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

// sees waits until the terminal shows something.
func (p *tty) sees(want string) {
	p.t.Helper()
	limit := time.After(time.Minute)
	for {
		if _, after, ok := strings.Cut(p.unheard, want); ok {
			p.unheard = after
			return
		}
		select {
		case text, ok := <-p.heard:
			if !ok {
				p.t.Fatalf("the terminal never showed %q:\n%s", want, p.all.String())
			}
			p.unheard += text
			p.all.WriteString(text)
		case <-limit:
			p.t.Fatalf("the terminal does not show %q:\n%s", want, p.all.String())
		}
	}
}

func (p *tty) types(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the program, and checks its exit code.
func (p *tty) ends(want int) {
	p.t.Helper()
	watchdog := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
	defer watchdog.Stop()
	_ = p.cmd.Wait()
	for text := range p.heard {
		p.unheard += text
		p.all.WriteString(text)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit code %d, want %d:\n%s", got, want, p.all.String())
	}
}

const prompt = "leave it waiting >"

func TestApprovalAtATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		env   []string
		talk  func(*tty)
		code  int
		state string // of the approval afterwards
	}{
		{name: "yes", code: 0, state: "spent", talk: func(p *tty) {
			p.types("a\n")
			p.sees(`"path": "one"`)
			p.sees("did one")
		}},
		{name: "no", code: 3, state: "denied", talk: func(p *tty) {
			p.types("d\n")
			p.sees("the reason, for the caller")
			p.types("not now\n")
			p.sees("a human refused demo.risky")
			p.sees("not now")
		}},
		{name: "quit", code: 4, state: "pending", talk: func(p *tty) {
			p.types("q\n")
			p.sees("left waiting")
			p.sees("callgate approvals approve a")
		}},
		{name: "for the session", code: 0, state: "spent", talk: func(p *tty) {
			p.types("s\n")
			p.sees("did one")
		}},
		{name: "edited", env: []string{"VISUAL=sed -i s/one/two/"}, code: 0, state: "spent", talk: func(p *tty) {
			p.types("e\n")
			p.sees(`"path": "two"`)
			p.sees("did two")
		}},
		{name: "edited wrongly, then as it was", env: []string{"EDITOR=sed -i s/path/pth/", "VISUAL="}, code: 0, state: "spent", talk: func(p *tty) {
			p.types("e\n")
			p.sees("pth")
			p.sees(prompt)
			p.types("a\n")
			p.sees("did one")
		}},
		{name: "interrupted", code: 130, state: "pending", talk: func(p *tty) {
			p.types("\x03")
			p.sees("still waits for a human")
		}},
	} {
		for _, withKernel := range []bool{false, true} {
			name := c.name + ", alone"
			if withKernel {
				name = c.name + ", of a running kernel"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				state := filepath.Join(t.TempDir(), "s")
				if withKernel {
					up(t, state)
				}
				p := onTerminal(t, state, c.env, "tools", "call", "demo.risky", "--path", "one")
				p.sees("A human must decide")
				p.sees("demo.risky  high risk")
				p.sees("path: one")
				p.sees(prompt)
				c.talk(p)
				p.ends(c.code)
				if list := untilSays(t, state, "ID", "approvals", "list", "--all"); !strings.Contains(list, c.state) {
					t.Errorf("the approval is not %s: %s", c.state, list)
				}
			})
		}
	}
}

func TestAnsweredElsewhereWhileAsking(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	up(t, state)
	p := onTerminal(t, state, nil, "tools", "call", "demo.risky", "--path", "one")
	p.sees(prompt)
	list := untilSays(t, state, "pending", "approvals", "list", "--json")
	no := start(t, state, "approvals", "deny", between(t, list, `"id": "`, `"`))
	if no.ends(t) != 0 {
		t.Fatal(no.err.String())
	}
	p.sees("answered elsewhere")
	p.ends(3)
}

func TestColoursOnlyOnATerminal(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	p := onTerminal(t, state, []string{"NO_COLOR=", "TERM=xterm"}, "tools", "list", "demo")
	p.sees("\x1b[1mdemo.echo")
	p.ends(0)
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		p := onTerminal(t, state, []string{"NO_COLOR=", "TERM=xterm", env}, "tools", "list", "demo")
		p.sees("demo.echo")
		p.ends(0)
		if strings.Contains(p.all.String(), "\x1b") {
			t.Errorf("colours in spite of %s: %q", env, p.all.String())
		}
	}
	p = onTerminal(t, state, []string{"NO_COLOR=", "TERM=xterm"}, "--no-color", "tools", "list", "demo")
	p.ends(0)
	if strings.Contains(p.all.String(), "\x1b") {
		t.Errorf("colours in spite of --no-color: %q", p.all.String())
	}
}

// A terminal shows everything in a result and obeys nothing in it; a pipe is
// given the result's own bytes.
func TestResultsAtATerminal(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	up(t, state)
	const path = "a\x1b[2Jb\u202ec"
	for _, c := range []struct{ flag, want string }{
		{"--text", "text of a⟨U+001B⟩[2Jb⟨U+202E⟩c"},
		{"--deep", `"path": "a\u001b[2Jb⟨U+202E⟩c"`},
		{"--json", `"path": "a\u001b[2Jb\u202ec"`},
	} {
		p := onTerminal(t, state, nil, "tools", "call", "demo.echo", "--path", path, c.flag)
		p.sees(c.want)
		p.ends(0)
		if all := p.all.String(); strings.ContainsAny(all, "\x1b\u202e") {
			t.Errorf("%s: the terminal is given %q", c.flag, all)
		}
	}
	code, out, _ := inProcess(t, state, "", "tools", "call", "demo.echo", "--path", path, "--text")
	if code != 0 || out != "text of "+path {
		t.Errorf("a pipe is given %q", out)
	}
}

// A process that the asking one has started cannot answer for it, whatever key
// it holds.
func TestAskerCannotAnswerItself(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "s")
	up(t, state)
	// The editor is a child of the process that asked, with its user's rights.
	list := `callgate approvals list --json | sed -n 's/.*"id": "\(.*\)",/\1/p' | head -1`
	p := onTerminal(
		t,
		state,
		[]string{`VISUAL=f() { callgate approvals approve $(` + list + `); false; }; f`},
		"tools",
		"call",
		"demo.risky",
		"--path",
		"one",
	)
	p.sees(prompt)
	p.types("e\n")
	p.sees("from the session that asked")
	p.sees(prompt)
	p.types("q\n")
	p.ends(4)
}

// Of what a call prints, the first lines are shown, and which command has the others.
func TestLongOutputIsCutAtATerminal(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Level != sandbox.Full {
		t.Skip("this machine cannot confine a command as this test needs it")
	}
	state := filepath.Join(t.TempDir(), "s")
	up(t, state)
	p := onTerminal(t, state, nil, "run", "-p", `run the command "seq 5000 | sed s/^/row/"`,
		"--allow", "shell: seq *", "--allow", "shell: sed *")
	p.sees("│ row12")
	p.sees(" more lines; callgate log show ") // a slow reader is not shown every piece, so not how many
	p.sees("✓ shell.bash: exit code 0")
	p.ends(0)
	if strings.Contains(p.all.String(), "│ row13\r") {
		t.Errorf("the terminal shows %.2000s", p.all.String())
	}
}

// A person at a terminal lets calls run unasked, also where the command writes for a
// program.
func TestPersonAllowsAtATerminal(t *testing.T) {
	t.Parallel()
	for _, withKernel := range []bool{false, true} {
		for _, flags := range [][]string{{"--allow", `demo.risky: path: x*`}, {"--json", "--allow", "demo.risky"}} {
			t.Run(fmt.Sprint(flags, withKernel), func(t *testing.T) {
				t.Parallel()
				state := filepath.Join(t.TempDir(), "s")
				if withKernel {
					up(t, state)
				}
				p := onTerminal(t, state, nil, append([]string{"run", onlyDemo(t), "-p", `risky, path="x1"`}, flags...)...)
				p.sees("did x1")
				p.ends(0)
				if list := untilSays(t, state, "[]", "approvals", "list", "--all", "--json"); strings.Contains(list, "demo") {
					t.Errorf("a human was asked: %s", list)
				}
			})
		}
	}
}
