package tui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/peer/terminaltest"
)

// sceneApp is an app whose model is on loopback, and whose commands a human approves.
const sceneApp = `app: {app_id: shop, name: Shop}
agents:
  - id: main
    brain: {provider: openai, model: gpt-4o, config: {base_url: "%s/v1"}}
tools:
  modules: {filesystem: {}, shell: {}, memory: {}}
  capabilities:
    default_policy: auto
    approve:
      - module: shell
        reason: a command may do anything in this folder
`

// sceneFiles are a program with a mistake, and its test.
var sceneFiles = map[string]string{
	"README.md":    "# Shop\n",
	"src/price.sh": "# total PRICE COUNT: the price of all, in cents\ntotal() {\n  echo \"$1\"\n}\n",
	"src/test.sh": ". ./price.sh\nn=$(total 100 2)\nif [ \"$n\" != 200 ]; then\n" +
		"  echo \"total 100 2: want 200, got $n\"\n  echo FAILED\n  exit 1\nfi\necho ok\n",
}

// answer is what the model says next: words, and calls.
type answer struct {
	text  string
	calls []modelCall
}

type modelCall struct {
	name string
	args map[string]any
}

func call(name string, args ...any) modelCall {
	c := modelCall{name, map[string]any{}}
	for i := 0; i < len(args); i += 2 {
		c.args[args[i].(string)] = args[i+1]
	}
	return c
}

func bash(command string) modelCall { return call("shell__bash", "command", command) }

func read(path string) modelCall { return call("filesystem__read", "path", path) }

// serveAnswers is a model that gives one answer after the other.
func serveAnswers(t *testing.T, answers []answer) string {
	var next atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		n := int(next.Add(1))
		a := answers[min(n, len(answers))-1]
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := func(delta map[string]any, finish any) {
			line, _ := json.Marshal(map[string]any{"id": "c", "model": "m", // of plain values
				"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
				"usage":   map[string]any{"prompt_tokens": 8000 + 100*n, "completion_tokens": 40}})
			_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
		}
		chunk(map[string]any{"role": "assistant", "content": a.text}, nil)
		finish := "stop"
		for i, c := range a.calls {
			args, _ := json.Marshal(c.args) // of plain values
			finish = "tool_calls"
			chunk(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprintf("call%d_%d", n, i),
				"type": "function", "function": map[string]any{"name": c.name, "arguments": string(args)}}}}, nil)
		}
		chunk(map[string]any{}, finish)
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// newScene is a project whose model gives answers; more is added to its app file.
func newScene(t *testing.T, answers []answer, more ...string) project {
	t.Helper()
	return newSceneOf(t, fmt.Sprintf(sceneApp, serveAnswers(t, answers))+strings.Join(more, ""))
}

// newSceneOf is a project with an app file, which is accepted.
func newSceneOf(t *testing.T, app string) project {
	t.Helper()
	p := project{filepath.Join(t.TempDir(), "shop"), filepath.Join(t.TempDir(), "s")}
	files := map[string]string{"callgate.yaml": app}
	for name, text := range sceneFiles {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(p.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	accepted := terminaltest.Run(t, terminaltest.Program{
		Args: []string{"callgate", "app", "trust"}, Dir: p.folder,
		Env:   []string{"CALLGATE_STATE=" + p.state, "GORACE=atexit_sleep_ms=0", "CALLGATE_TOKEN="},
		Types: []terminaltest.Typing{terminaltest.Code()},
	})
	if accepted.Exit != 0 {
		t.Fatalf("app trust: %s\n%s", accepted.Err, accepted.Screen)
	}
	return p
}

// scenes are taken on a small and on a large screen.
var screens = []struct{ width, height int }{{80, 24}, {140, 40}}

// onScreens runs a scene on each.
func onScreens(t *testing.T, scene func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string))) {
	parallel(t)
	for _, size := range screens {
		name := fmt.Sprintf("%dx%d", size.width, size.height)
		t.Run(name, func(t *testing.T) {
			parallel(t)
			chat := func(p project) *pane {
				on := p.run(t, size.width, size.height, []string{"OPENAI_API_KEY=k", "NO_COLOR=1"}, "chat")
				on.want("say what to do")
				return on
			}
			scene(t, chat, func(scene string, at project, screens ...string) {
				for _, screen := range screens {
					checkScreen(t, scene, screen, size.width)
				}
				keepScene(t, filepath.Join(name, scene), at, screens)
			})
		})
	}
}

// checkScreen checks that every row fits, none stands there twice, and none is JSON.
func checkScreen(t *testing.T, scene, screen string, width int) {
	t.Helper()
	rows := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	for i, row := range rows {
		if n := len([]rune(row)); n > width {
			t.Errorf("%s: row %d is %d wide: %s", scene, i, n, row)
		}
		if i > 0 && row == rows[i-1] && strings.TrimSpace(strings.Trim(row, "│ ")) != "" {
			t.Errorf("%s: row %d stands there twice: %s", scene, i, row)
		}
	}
	if strings.Contains(screen, `\u00`) || strings.Contains(screen, `{"command"`) {
		t.Errorf("%s: JSON is on the screen:\n%s", scene, screen)
	}
}

// keepScene writes screens to docs/captures, with -update.
func keepScene(t *testing.T, name string, at project, screens []string) {
	t.Helper()
	if !*update {
		return
	}
	for i, screen := range screens {
		screen = strings.ReplaceAll(screen, at.folder, "/home/you/shop")
		screen = regexp.MustCompile(`(·|--resume) t[0-9a-z]{6,}`).ReplaceAllString(screen, "$1 t1a2b3c4d5")
		screen = regexp.MustCompile(`Pane is dead .*`).ReplaceAllString(screen, "")
		screen = regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(screen, "")
		screens[i] = strings.TrimRight(screen, "\n") + "\n"
	}
	file := filepath.Join(captures, name+".txt")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(screens, "\n"+strings.Repeat("═", 40)+"\n\n")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A session of sixteen calls: files are read and changed, a test fails, is mended and
// passes, and the answer has a list.
func TestSceneLongSession(t *testing.T) {
	const test = "cd src && sh test.sh 2>&1"
	replace := func(old, new string) modelCall {
		return call("filesystem__edit", "path", "src/price.sh", "old", old, "new", new)
	}
	answers := []answer{
		{"I look at the folder first.", []modelCall{call("filesystem__list", "path", "."),
			call("filesystem__glob", "pattern", "**/*.sh")}},
		{"", []modelCall{read("src/price.sh"), read("src/test.sh")}},
		{"Now the test, to see what fails.", []modelCall{bash(test)}},
		{"`total` ignores the count.", []modelCall{replace(`echo "$1"`, `echo $(($1 + $2))`)}},
		{"", []modelCall{call("filesystem__grep", "pattern", "total", "path", "src"), read("README.md")}},
		{"", []modelCall{bash(test)}},
		{"It must be a product, not a sum.", []modelCall{read("src/price.sh")}},
		{"", []modelCall{replace(`echo $(($1 + $2))`, `echo $(($1 * ${2:-1}))`)}},
		{"", []modelCall{bash(test)}},
		{"", []modelCall{call("memory__set_goal", "goal", "the test of prices passes")}},
		{"", []modelCall{call("filesystem__write", "path", "README.md", "content",
			"# Shop\n\nPrices are in whole cents.\n")}},
		{"", []modelCall{read("README.md"), read("src/price.sh")}},
		{"The test passes now. What I changed:\n\n1. **`total`** multiplies by the count; without a count " +
			"an item counts once, so that what older callers pass still fits.\n2. `README.md` says what prices are:\n" +
			"   - in cents\n   - whole ones\n\nRun `sh test.sh` in `src` to see for yourself.", nil},
	}
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, answers)
		p := chat(at)
		keep("first", at, p.want("answers     openai/gpt-4o", "run the tests, and mend what fails"))
		p.enter("the test in src fails: find out why, and mend it")
		p.want("A human must decide", "command: "+test)
		p.typeText("s")
		p.keys("Enter")
		end := p.want("see for yourself", "16 calls")
		p.keys("PPage")
		before := p.until("more below", func(s string) bool { return strings.Contains(s, "more below") })
		keep("session", at, before, end)
		p.leave()
		left := p.tmux("capture-pane", "-p", "-S", "-", "-t", "m")
		for _, want := range []string{
			"✗ shell.bash " + test, "  │ total 100 2: want 200, got 100", "  │ -  echo \"$1\"", "  │ +  echo $(($1 + $2))",
			"  │ +  echo $(($1 * ${2:-1}))", "✓ shell.bash " + test, "   • in cents", "chat --resume t",
		} {
			if !strings.Contains(left, want) {
				t.Errorf("what is left on the terminal does not show %q:\n%s", want, left)
			}
		}
	})
}

// A question about a pipeline and a here-document shows the command as it is typed.
func TestSceneQuestion(t *testing.T) {
	command := "find . -name '*.sh' 2>&1 | xargs wc -l | sort -rn | head -5 && cat > NOTES.md <<'EOF'\n" +
		"# Notes\n\n- prices are in cents\n- \"count\" may be missing & <0 is refused\nEOF\n"
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, []answer{{"I count the lines, and leave a note.", []modelCall{bash(command)}}, {"Done.", nil}})
		p := chat(at)
		p.enter("count the lines of the sources, and leave a note")
		keep("question", at, p.want("A human must decide", "2>&1 | xargs wc -l", "cat >", "NOTES.md <<'EOF'",
			"  - \"count\" may be missing & <0 is refused\n  EOF", "[q]uit: leave it waiting", "[s]ession: approve"))
		p.typeText("a")
		p.keys("Enter")
		p.want("✓ shell.bash find", "Done.")
	})
}

// Words that are entered while a call runs are queued, and stand where they were heard.
func TestSceneSteering(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, []answer{
			{"This takes a while.", []modelCall{bash("echo step 1; until cat gate; do sleep 0.1; done 2>/dev/null")}},
			{"As you say: the README stays as it is.", nil},
		})
		p := chat(at)
		p.enter("do the long thing")
		p.want("A human must decide")
		p.typeText("a")
		p.keys("Enter")
		p.want("│ step 1")
		p.enter("leave the README alone")
		queued := p.want("queued: leave the README alone  (up takes it back)", "a call runs; esc stops it")
		if err := os.WriteFile(filepath.Join(at.folder, "gate"), []byte("step 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		keep("steering", at, queued, p.want("✓ shell.bash", "> leave the README alone\n\nAs you say"))
	})
}

// Three chats in one folder: the first is closed while the second works and the third is
// written in.
func TestSceneThreeChats(t *testing.T) {
	onScreens(t, func(t *testing.T, chat func(project) *pane, keep func(string, project, ...string)) {
		at := newScene(t, []answer{
			{"Hello.", nil},
			{"A command.", []modelCall{bash("echo begun; until cat gate; do sleep 0.1; done 2>/dev/null")}},
			{"It is through.", nil},
			{"Still here.", nil},
		})
		first, second, third := chat(at), chat(at), chat(at)
		first.enter("hello")
		first.want("Hello.")
		second.enter("work for a while")
		second.want("A human must decide")
		second.typeText("a")
		second.keys("Enter")
		second.want("│ begun")
		third.typeText("half a sentence")
		third.want("> half a sentence")
		first.leave()
		works := second.want("→ shell.bash", "│ begun", "a call runs")
		typed := third.want("> half a sentence")
		if err := os.WriteFile(filepath.Join(at.folder, "gate"), []byte("more\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ended := second.want("✓ shell.bash", "It is through.")
		third.typeText(", and the rest")
		third.want("> half a sentence, and the rest")
		third.keys("Enter")
		keep("chats", at, first.screen(), works, typed, ended, third.want("> half a sentence, and the rest", "Still here."))
	})
}
