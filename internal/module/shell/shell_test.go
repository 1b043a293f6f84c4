package shell_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"callgate/internal/module/shell"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// run makes a call as the gate does: with complete arguments and bound claims.
func run(t *testing.T, workspace, args string, change func(*tool.Grant)) (*tool.Result, error) {
	t.Helper()
	return runWith(t, shell.Config{}, workspace, args, change)
}

func runWith(
	t *testing.T, config shell.Config, workspace, args string, change func(*tool.Grant),
) (*tool.Result, error) {
	t.Helper()
	if runtime.GOOS != "linux" || sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine cannot confine a command")
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var all map[string]any
	if err := json.Unmarshal([]byte(`{"cwd":".","timeout":30,"reads_only":false}`), &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(args), &all); err != nil {
		t.Fatal(err)
	}
	grant := tool.Grant{Workspace: workspace, Root: root}
	if writes, ok := all["writes"].([]any); ok {
		for _, w := range writes {
			resource := "file:" + filepath.Join(workspace, w.(string))
			grant.Claims = append(grant.Claims, tool.Claim{Resource: resource, Mode: tool.U})
		}
	}
	if change != nil {
		change(&grant)
	}
	data, _ := json.Marshal(all)
	bash := shell.Tools(config)[0]
	if err := bash.Validate(); err != nil {
		t.Fatal(err)
	}
	return bash.Handler.Execute(t.Context(), tool.Call{ID: "c1", Args: data}, grant)
}

// What a command of one folder leaves in its cache, which later commands run, is
// not there for another folder's.
func TestEachFolderHasItsCache(t *testing.T) {
	t.Parallel()
	config := shell.Config{Cache: filepath.Join(workspace(t), "cache")}
	one, other := workspace(t), workspace(t)
	for _, c := range []struct{ folder, command, want string }{
		{one, `{"command":"echo mine > $XDG_CACHE_HOME/poison && cat $XDG_CACHE_HOME/poison"}`, "mine"},
		{one, `{"command":"cat $XDG_CACHE_HOME/poison"}`, "mine"},
		{other, `{"command":"cat $XDG_CACHE_HOME/../*/poison || echo none"}`, "none"},
	} {
		r, err := runWith(t, config, c.folder, c.command, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(r); !strings.Contains(got, c.want) || c.folder == other && strings.Contains(got, "mine") {
			t.Errorf("%s: %s %s", c.command, r.Summary, got)
		}
	}
}

func workspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func text(r *tool.Result) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "|")
}

func TestBash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, args string
		kind       tool.Kind // "" for success
		summary    string
		text       string
	}{
		{"says hello", `{"command":"echo hello"}`, "", "exit code 0", "hello\n"},
		{"both streams", `{"command":"echo out; echo err >&2"}`, "", "exit code 0", "out\nerr\n"},
		{"streams in order", `{"command":"for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done"}`, "", "exit code 0",
			"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\nout 4\nerr 4\nout 5\nerr 5\n"},
		{"says nothing", `{"command":"true"}`, "", "(no output)", ""},
		{"runs in a folder", `{"command":"pwd","cwd":"sub"}`, "", "exit code 0", "/sub\n"},
		{"fails", `{"command":"echo no such branch >&2; exit 3"}`, tool.Failed,
			"failed with exit code 3 (no such branch)", "no such branch\nexit code 3\n"},
		{"fails silently", `{"command":"exit 9"}`, tool.Failed, "it said nothing", "(no output)\nexit code 9\n"},
		{"no such program", `{"command":"nonesuch-program"}`, tool.Failed, "did not find a program", "nonesuch-program"},
		{"a signal", `{"command":"kill -SEGV $$"}`, tool.Failed, "SIGSEGV", ""},
		{"does not end", `{"command":"echo before; sleep 77","timeout":1}`, tool.Timeout,
			"did not end within 1s", "before\nstopped after "},
		{"invalid text", `{"command":"printf 'a\\377b'"}`, "", "exit code 0", "a\uFFFDb"},
		{"may not write", `{"command":"echo x > f","reads_only":true}`, tool.Failed,
			"with reads_only nothing in the workspace can be written", "f: "},
		{"writes what it named", `{"command":"echo x > f && cat f","writes":["f"]}`, "", "exit code 0", "x\n"},
		{"writes something else", `{"command":"echo x > g","writes":["f"]}`, tool.Failed,
			"only what writes names can be written: f", "g: "},
		{"reads no home", `{"command":"cat ~/.ssh/id_rsa ~/.bash_history"}`, tool.Failed, "failed", "No such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := workspace(t)
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			r, err := run(t, dir, c.args, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tool.KindOf(r.Err()) != c.kind || !strings.Contains(r.Summary, c.summary) || !strings.Contains(text(r), c.text) {
				t.Errorf("%s: %q\n%s", r.Status, r.Summary, text(r))
			}
			var data struct {
				Sandbox  string
				ExitCode *int `json:"exit_code"`
			}
			if err := json.Unmarshal(r.Data, &data); err != nil || data.ExitCode == nil || data.Sandbox == "" {
				t.Errorf("data %s: %v", r.Data, err)
			}
		})
	}
}

func TestFolderOutside(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for cwd, kind := range map[string]tool.Kind{
		"..": tool.Denied, "/": tool.Denied, "out": tool.Denied, "nowhere": tool.NotFound,
	} {
		if _, err := run(t, dir, `{"command":"pwd","cwd":"`+cwd+`"}`, nil); tool.KindOf(err) != kind {
			t.Errorf("%s: %v", cwd, err)
		}
	}
}

// TestLongOutput: of long output the head and the tail are kept, and no more memory
// is used than for these.
func TestLongOutput(t *testing.T) {
	t.Parallel()
	const command = `{"command":"echo first; head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last"}`
	r, err := run(t, workspace(t), command, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := text(r)
	if !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast\n") || len(out) > 9<<20 ||
		!strings.Contains(out, "bytes left out") {
		t.Errorf("%d bytes: %.60q … %.60q", len(out), out, out[len(out)-60:])
	}
	const told = "the command printed 300000012 bytes; only the first 4194304 and the last 4194304 are kept"
	if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], told) {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// TestWholeOutput: what fits is all there, for the artifact that the kernel makes of it.
func TestWholeOutput(t *testing.T) {
	t.Parallel()
	const command = `{"command":"head -c 400000 /dev/zero | tr '\\0' x; echo; head -c 300000 /dev/zero | tr '\\0' y >&2"}`
	r, err := run(t, workspace(t), command, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("x", 400_000) + "\n" + strings.Repeat("y", 300_000)
	if len(r.Content) != 1 || r.Content[0].Text != want || len(r.Warnings) != 0 {
		t.Errorf("%d pieces, %d bytes, warnings %q", len(r.Content), len(text(r)), r.Warnings)
	}
}

func TestLiveOutput(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heard strings.Builder
	r, err := run(t, workspace(t), `{"command":"echo live; echo $SECRET_ONE"}`, func(g *tool.Grant) {
		g.Secrets = map[string]string{"SECRET_ONE": "value"}
		g.Emit = func(stream string, chunk []byte) {
			mu.Lock()
			defer mu.Unlock()
			heard.WriteString(stream + ":" + string(chunk))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if text(r) != "live\nvalue\n" || !strings.Contains(heard.String(), "stdout:live") {
		t.Errorf("text %q, heard %q", text(r), heard.String())
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	call := tool.Call{Args: json.RawMessage(`{"command":"true","cwd":".","timeout":5}`)}
	_, err = shell.Tools(shell.Config{})[0].Handler.Execute(ctx, call, tool.Grant{Workspace: dir, Root: root})
	if tool.KindOf(err) != tool.Cancelled {
		t.Errorf("%v", err)
	}
}
