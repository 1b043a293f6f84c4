package tui_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/cli"
	"callgate/internal/peer/terminaltest"
)

// TestMain makes this test's own binary the program, so that a terminal runs it.
func TestMain(m *testing.M) {
	terminaltest.Play()
	testscript.Main(m, map[string]func(){"callgate": func() { os.Exit(cli.Main(os.Args[1:])) }})
}

// appFile is an app on the offline brain, whose file writes a human approves.
const appFile = `app: {app_id: demo, name: Demo}
tools:
  modules:
    filesystem: {}
    shell: {}
  capabilities:
    default_policy: auto
    approve:
      - module: filesystem
        actions: [write]
`

// project is a folder to work in, and a kernel's state.
type project struct {
	folder string
	state  string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{filepath.Join(t.TempDir(), "project"), filepath.Join(t.TempDir(), "s")}
	if err := os.Mkdir(p.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"callgate.yaml": appFile, "notes.txt": "alpha\nbeta\n"} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	accepted := terminaltest.Run(t, terminaltest.Program{
		Args: []string{"callgate", "app", "trust", "--yes"}, Dir: p.folder,
		Env:   []string{"CALLGATE_STATE=" + p.state, "GORACE=atexit_sleep_ms=0", "CALLGATE_TOKEN="},
		Types: []terminaltest.Typing{terminaltest.Code()},
	})
	if accepted.Exit != 0 {
		t.Fatalf("app trust: %s\n%s", accepted.Err, accepted.Screen)
	}
	return p
}

// pane is the program on a terminal of tmux.
type pane struct {
	*testing.T
	socket string
}

// run starts the program on a terminal.
func (p project) run(t *testing.T, width, height int, env []string, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: apt-get install tmux")
	}
	dir, err := os.MkdirTemp("", "cg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &pane{t, filepath.Join(dir, "t")}
	t.Cleanup(func() {
		pid, _ := exec.Command("tmux", "-S", s.socket, "display-message", "-p", "-t", "m", "#{pane_pid}").Output()
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
		waitGone(t, strings.TrimSpace(string(pid)))
	})
	line := "exec env -u NO_COLOR CALLGATE_STATE='" + p.state + "' GORACE=atexit_sleep_ms=0 " + strings.Join(env, " ") +
		" callgate " + strings.Join(args, " ")
	s.tmux("-f", "/dev/null", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g",
		"escape-time", "0", ";",
		"new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "-s", "m", "-c", p.folder, line)
	return s
}

// waitGone waits until a process has ended: it writes into its state until then.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		return // it had ended before
	}
	process, err := os.FindProcess(number)
	if err != nil {
		return
	}
	if !poll(func() bool { return process.Signal(syscall.Signal(0)) != nil }) {
		t.Errorf("the program of the terminal, process %d, does not end", number)
	}
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (p *pane) screen() string { return p.tmux("capture-pane", "-p", "-t", "m") }

// until waits for a state of the screen.
func (p *pane) until(what string, ok func(screen string) bool) string {
	p.Helper()
	var screen string
	if !poll(func() bool { screen = p.screen(); return ok(screen) }) {
		p.Fatalf("the screen never showed %s:\n%s", what, screen)
	}
	return screen
}

// poll waits until a condition holds. It reports false after a minute.
func poll(ok func() bool) bool {
	limit := time.After(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
	return true
}

func (p *pane) want(want ...string) string {
	p.Helper()
	return p.until(strings.Join(want, ", "), func(screen string) bool {
		for _, w := range want {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
}

func (p *pane) keys(names ...string) {
	p.Helper()
	p.tmux(append([]string{"send-keys", "-t", "m"}, names...)...)
}

func (p *pane) typeText(text string) {
	p.Helper()
	p.tmux("send-keys", "-t", "m", "-l", text)
}

// enter types a line, waits until the screen shows it, and presses enter.
func (p *pane) enter(text string) {
	p.Helper()
	p.typeText(text)
	p.want("> " + text)
	p.keys("Enter")
}

// leave presses ctrl+d once no turn is under way, and waits for the end. An answer is
// on the screen before its turn has ended.
func (p *pane) leave() {
	p.Helper()
	p.until("that no turn is under way", func(screen string) bool { return !strings.Contains(screen, "; esc stops") })
	p.keys("C-d")
	p.wantExit(0)
}

// wantExit waits for the program to end, and checks its exit code.
func (p *pane) wantExit(want int) {
	p.Helper()
	var state string
	ended := poll(func() bool {
		state = strings.TrimSpace(p.tmux("display-message", "-p", "-t", "m",
			"#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pane_pid}"))
		fields := strings.Split(state, ",")
		if fields[0] == "1" && fields[1]+fields[2] == "" { // tmux may miss the end of a child until the next one ends
			p.tmux("run-shell", "-b", "true")
			return false
		}
		return fields[0] == "1"
	})
	if !ended {
		p.Fatalf("the program does not end (%s):\n%s", state, p.screen())
	}
	if code := strings.Split(state, ",")[1]; code != strconv.Itoa(want) {
		p.Fatalf("the program ended with %q, want %d:\n%s", state, want, p.screen())
	}
}

// conversationID is the ID of the conversation on the screen.
func (p *pane) conversationID() string {
	p.Helper()
	m := regexp.MustCompile(`· (t[0-9a-z]+)\s`).FindStringSubmatch(p.want("offline brain"))
	if m == nil {
		p.Fatalf("there is no ID in\n%s", p.screen())
	}
	return m[1]
}

// parallel runs a test beside the others. Captures are taken one after the other.
func parallel(t *testing.T) {
	if !*update {
		t.Parallel()
	}
}

func TestConversation(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 28, nil, "chat")
	p.want("demo/main · offline brain", "say what to do, or /help", "0 calls")
	p.enter("list the files here")
	p.capture("conversation", project, p.want("✓ filesystem.list", "notes.txt", "1 call "))

	p.enter(`write "x" to a.txt`)
	p.capture("question", project, p.want("A human must decide", "filesystem.write  medium risk", "+x", "[a]pprove"))
	p.typeText("e")
	p.want("enter: edit")
	p.keys("Enter")
	p.want("ctrl+s approves it as edited", `"content": "x"`)
	p.keys("Down", "End", "Left", "Left", "BSpace")
	p.typeText("y, edited")
	p.want(`"content": "y, edited"`)
	p.keys("Home", "Right", "Right", "Right")
	p.typeText("Q")
	p.want(`"Qcontent"`)
	p.keys("C-s")
	p.capture("edit", project, p.want("Qcontent: no", "such field", "did you mean")) // the kernel says what is wrong
	p.keys("BSpace", "C-s")
	p.want("✓ filesystem.write", "created a.txt", "a human edited the arguments")
	if got, err := os.ReadFile(filepath.Join(project.folder, "a.txt")); err != nil || string(got) != "y, edited" {
		t.Errorf("a.txt holds %q, %v", got, err)
	}

	p.enter(`write "y, again" to a.txt`)
	p.want("-y, edited", "+y, again")
	p.typeText("d")
	p.keys("Enter")
	p.want("deny: ")
	p.typeText("not that")
	p.keys("Enter")
	p.want("✗ filesystem.write", "refused", "3 calls")

	p.keys("Up")
	p.want("─\n> write \"y, again\" to a.txt") // below the rule is the input, above it the transcript
	p.keys("C-c")
	p.want("─\n> say what to do")
	p.keys("C-c")
	p.want("ctrl+c again leaves")
	p.keys("C-c")
	p.wantExit(0)
	all := p.tmux("capture-pane", "-p", "-S", "-", "-t", "m") // with what tmux has scrolled away
	if !strings.Contains(all, "chat --resume t") {
		t.Errorf("nothing says how to go on:\n%s", all)
	}
}

func TestInterruptResizeAndSwitch(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat", "callgate.yaml")
	p.want("offline brain")
	p.enter(`run the command "echo begun; sleep 300"`)
	p.capture("running", project, p.want("→ shell.bash", "│ begun", "a call runs; esc stops it"))
	p.tmux("resize-window", "-t", "m", "-x", "40", "-y", "20")
	p.until("a narrow screen", func(s string) bool {
		return strings.Contains(s, strings.Repeat("─", 40)) || strings.Contains(s, "esc stops it") &&
			!strings.Contains(s, "tools, direct · t")
	})
	p.keys("Escape")
	p.want("✗ shell.bash", "stopped", strings.Repeat("─", 40))
	p.tmux("resize-window", "-t", "m", "-x", "110", "-y", "30")
	p.want(`> run the command "echo begun; sleep 300"`, strings.Repeat("─", 110))
	id := p.conversationID()
	p.enter("/new")
	p.until("another conversation", func(s string) bool { return strings.Contains(s, "· t") && !strings.Contains(s, id) })
	p.enter("/sessions")
	p.want("which conversation?", "▸ ", id)
	p.keys("Enter")
	p.want("· "+id, "> run the command", "✗ shell.bash")
	p.enter("list the files here")
	p.want("✓ filesystem.list")
	p.enter("/quit")
	p.wantExit(0)

	// Conversations in which nothing was said leave nothing behind.
	list := exec.Command("callgate", "sessions", "list")
	list.Env = append(os.Environ(), "CALLGATE_STATE="+project.state)
	out, err := list.Output()
	if err != nil || strings.Count(string(out), "\n") != 2 || !strings.Contains(string(out), id) {
		t.Errorf("%v: the conversations are\n%s", err, out)
	}
}

func TestKilledDuringATurn(t *testing.T) {
	parallel(t)
	project := newProject(t)
	p := project.run(t, 90, 24, nil, "chat")
	id := p.conversationID()
	p.enter(`run the command "echo begun; sleep 300"`)
	p.want("│ begun")
	pid, err := strconv.Atoi(strings.TrimSpace(p.tmux("display-message", "-p", "-t", "m", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	p = project.run(t, 90, 24, nil, "chat", "--resume", id)
	p.want(`> run the command "echo begun; sleep 300"`, "the last turn was interrupted: it goes on",
		"another client goes on with it")
	p.enter("/quit")
	p.wantExit(0)
}

func TestPasteOfSeveralLines(t *testing.T) {
	parallel(t)
	p := newProject(t).run(t, 80, 24, nil, "chat")
	p.want("say what to do")
	p.tmux("set-buffer", "-b", "x", "list the files here\nread notes.txt")
	p.tmux("paste-buffer", "-p", "-b", "x", "-t", "m")
	p.want("> list the files here\n  read notes.txt", "0 calls")
	p.keys("Enter")
	p.want("✓ filesystem.list", "✓ filesystem.read", "alpha")
}

func TestColours(t *testing.T) {
	parallel(t)
	for _, c := range []struct {
		name    string
		env     []string
		args    []string
		colours bool
	}{
		{"colours", nil, nil, true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, nil, false},
		{"--no-color", nil, []string{"--no-color"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			parallel(t)
			p := newProject(t).run(t, 80, 24, c.env, append([]string{"chat"}, c.args...)...)
			p.want("say what to do")
			raw := p.tmux("capture-pane", "-p", "-e", "-t", "m")
			if got := regexp.MustCompile(`\x1b\[[0-9;]*3[0-7]m`).MatchString(raw); got != c.colours {
				t.Errorf("colours: %v, want %v: %q", got, c.colours, raw)
			}
		})
	}
}

func TestPlain(t *testing.T) {
	parallel(t)
	p := newProject(t).run(t, 80, 24, nil, "chat", "--plain")
	p.want("offline brain (no language model", "\n>")
	p.typeText("list the files here")
	p.keys("Enter")
	p.want("→ filesystem.list", "✓ filesystem.list: .: ", "notes.txt")
	p.leave()
}

func TestNoTerminal(t *testing.T) {
	parallel(t)
	project := newProject(t)
	cmd := exec.Command("callgate", "chat")
	cmd.Dir, cmd.Env = project.folder, append(os.Environ(), "CALLGATE_STATE="+project.state)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 2 || !strings.Contains(string(out), "callgate run -p") {
		t.Errorf("%v: %s", err, out)
	}
}
