package tui_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"callgate/internal/cli"
)

// TestMain makes this test's own binary the program, so that a terminal runs it.
func TestMain(m *testing.M) {
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

// place is a folder to work in, and a kernel's state.
type place struct {
	folder string
	state  string
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{filepath.Join(t.TempDir(), "project"), filepath.Join(t.TempDir(), "s")}
	if err := os.Mkdir(p.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"callgate.yaml": appFile, "notes.txt": "alpha\nbeta\n"} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// pane is the program on a terminal of tmux.
type pane struct {
	*testing.T
	socket string
}

// onTerminal starts the program.
func (p place) onTerminal(t *testing.T, width, height int, env []string, args ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("there is no tmux here: the chat is not tried on a terminal")
	}
	dir, err := os.MkdirTemp("", "cg") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	s := &pane{t, filepath.Join(dir, "t")}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", s.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	line := "exec env -u NO_COLOR CALLGATE_STATE='" + p.state + "' GORACE=atexit_sleep_ms=0 " + strings.Join(env, " ") + " callgate " + strings.Join(args, " ")
	s.tmux("-f", "/dev/null", "start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "escape-time", "0", ";",
		"new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "-s", "m", "-c", p.folder, line)
	return s
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
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		screen := p.screen()
		if ok(screen) {
			return screen
		}
		if time.Now().After(limit) {
			p.Fatalf("the screen never showed %s:\n%s", what, screen)
		}
	}
}

func (p *pane) sees(want ...string) string {
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

func (p *pane) types(text string) {
	p.Helper()
	p.tmux("send-keys", "-t", "m", "-l", text)
}

// says writes a line, sees that it stands there, and sends it.
func (p *pane) says(text string) {
	p.Helper()
	p.types(text)
	p.sees("> " + text)
	p.keys("Enter")
}

// ends waits for the program, and checks its exit code.
func (p *pane) ends(want int) {
	p.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := strings.TrimSpace(p.tmux("display-message", "-p", "-t", "m", "#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pane_pid}"))
		switch is := strings.Split(got, ","); {
		case is[0] != "1":
		case is[1]+is[2] == "": // tmux may miss the end of a child until the next one's
			p.tmux("run-shell", "-b", "true")
		case is[1] != strconv.Itoa(want):
			p.Fatalf("it ended with %q, want %d:\n%s", got, want, p.screen())
		default:
			return
		}
		if time.Now().After(limit) {
			p.Fatalf("it does not end (%s):\n%s", got, p.screen())
		}
	}
}

// talk is the ID of the conversation that is seen.
func (p *pane) talk() string {
	p.Helper()
	m := regexp.MustCompile(`· (t[0-9a-z]+)\s`).FindStringSubmatch(p.sees("offline brain"))
	if m == nil {
		p.Fatalf("there is no ID in\n%s", p.screen())
	}
	return m[1]
}

func TestConversation(t *testing.T) {
	place := newPlace(t)
	p := place.onTerminal(t, 90, 28, nil, "chat")
	p.sees("demo/main · offline brain", "say what to do, or /help", "0 calls")
	p.says("list the files here")
	p.keep("conversation", place, p.sees("✓ filesystem.list", "notes.txt", "1 call "))

	p.says(`write "x" to a.txt`)
	p.keep("question", place, p.sees("A human must decide", "filesystem.write  medium risk", "+x", "[a]pprove"))
	p.types("e")
	p.sees("enter: edit")
	p.keys("Enter")
	p.sees("ctrl+s approves it as edited", `"content": "x"`)
	p.keys("Down", "End", "Left", "Left", "BSpace")
	p.types("y, edited")
	p.sees(`"content": "y, edited"`)
	p.keys("Home", "Right", "Right", "Right")
	p.types("Q")
	p.sees(`"Qcontent"`)
	p.keys("C-s")
	p.keep("edit", place, p.sees("Qcontent", "no such field", "did you mean")) // the kernel says what is wrong
	p.keys("BSpace", "C-s")
	p.sees("✓ filesystem.write", "created a.txt", "a human edited the arguments")
	if got, err := os.ReadFile(filepath.Join(place.folder, "a.txt")); err != nil || string(got) != "y, edited" {
		t.Errorf("a.txt holds %q, %v", got, err)
	}

	p.says(`write "y, again" to a.txt`)
	p.sees("-y, edited", "+y, again")
	p.types("d")
	p.keys("Enter")
	p.sees("deny: ")
	p.types("not that")
	p.keys("Enter")
	p.sees("✗ filesystem.write", "refused", "3 calls")

	p.keys("Up")
	p.sees(`> write "y, again" to a.txt`)
	p.keys("C-c", "C-c")
	p.sees("ctrl+c again leaves")
	p.keys("C-c")
	p.ends(0)
	if all := p.tmux("capture-pane", "-p", "-S", "-", "-t", "m"); !strings.Contains(all, "chat --resume t") { // tmux has scrolled it away
		t.Errorf("nothing says how to go on:\n%s", all)
	}
}

func TestInterruptResizeAndGoOn(t *testing.T) {
	place := newPlace(t)
	p := place.onTerminal(t, 90, 24, nil, "chat", "callgate.yaml")
	p.sees("offline brain")
	p.says(`run the command "echo begun; sleep 300"`)
	p.keep("running", place, p.sees("→ shell.bash", "│ begun", "a call runs; esc stops it"))
	p.tmux("resize-window", "-t", "m", "-x", "40", "-y", "20")
	p.until("a narrow screen", func(s string) bool {
		return strings.Contains(s, strings.Repeat("─", 40)) || strings.Contains(s, "esc stops it") && !strings.Contains(s, "tools, direct · t")
	})
	p.keys("Escape")
	p.sees("✗ shell.bash", "stopped", strings.Repeat("─", 40))
	p.tmux("resize-window", "-t", "m", "-x", "110", "-y", "30")
	p.sees(`> run the command "echo begun; sleep 300"`, strings.Repeat("─", 110))
	id := p.talk()
	p.says("/new")
	p.until("another conversation", func(s string) bool { return strings.Contains(s, "· t") && !strings.Contains(s, id) })
	p.says("/sessions")
	p.sees("which conversation?", "▸ ", id)
	p.keys("Enter")
	p.sees("· "+id, "> run the command", "✗ shell.bash")
	p.says("list the files here")
	p.sees("✓ filesystem.list")
	p.says("/quit")
	p.ends(0)

	// Conversations in which nothing was said leave nothing behind.
	list := exec.Command("callgate", "sessions", "list")
	list.Env = append(os.Environ(), "CALLGATE_STATE="+place.state)
	out, err := list.Output()
	if err != nil || strings.Count(string(out), "\n") != 2 || !strings.Contains(string(out), id) {
		t.Errorf("%v: the conversations are\n%s", err, out)
	}
}

func TestKilledInATurn(t *testing.T) {
	place := newPlace(t)
	p := place.onTerminal(t, 90, 24, nil, "chat")
	id := p.talk()
	p.says(`run the command "echo begun; sleep 300"`)
	p.sees("│ begun")
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
	p = place.onTerminal(t, 90, 24, nil, "chat", "--resume", id)
	p.sees(`> run the command "echo begun; sleep 300"`, "the last turn was broken off: it goes on", "may or may not have happened")
	p.says("/quit")
	p.ends(0)
}

func TestPasteColoursAndPlain(t *testing.T) {
	place := newPlace(t)
	t.Run("a paste of several lines", func(t *testing.T) {
		p := place.onTerminal(t, 80, 24, nil, "chat")
		p.sees("say what to do")
		p.tmux("set-buffer", "-b", "x", "list the files here\nread notes.txt")
		p.tmux("paste-buffer", "-p", "-b", "x", "-t", "m")
		p.sees("> list the files here\n  read notes.txt", "0 calls")
		p.keys("Enter")
		p.sees("✓ filesystem.list", "✓ filesystem.read", "alpha")
	})
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
			p := place.onTerminal(t, 80, 24, c.env, append([]string{"chat"}, c.args...)...)
			p.sees("say what to do")
			raw := p.tmux("capture-pane", "-p", "-e", "-t", "m")
			if got := regexp.MustCompile(`\x1b\[[0-9;]*3[0-7]m`).MatchString(raw); got != c.colours {
				t.Errorf("colours: %v, want %v: %q", got, c.colours, raw)
			}
		})
	}
	t.Run("--plain", func(t *testing.T) {
		p := place.onTerminal(t, 80, 24, nil, "chat", "--plain")
		p.sees("offline brain (no language model", "\n>")
		p.types("list the files here")
		p.keys("Enter")
		p.sees("→ filesystem.list", "✓ .: ", "notes.txt")
		p.keys("C-d")
		p.ends(0)
	})
}

func TestNoTerminal(t *testing.T) {
	place := newPlace(t)
	cmd := exec.Command("callgate", "chat")
	cmd.Dir, cmd.Env = place.folder, append(os.Environ(), "CALLGATE_STATE="+place.state)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 2 || !strings.Contains(string(out), "callgate run -p") {
		t.Errorf("%v: %s", err, out)
	}
}
