package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"callgate/tool"
)

// newEnv makes an environment whose streams are kept.
func newEnv(flags Flags) (e *Env, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	e = New(Host{Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Getenv: func(string) string { return "" }})
	e.Flags = flags
	return e, out, errs
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tool.Kind]int{
		"": 0, tool.Invalid: 2, tool.Denied: 3, tool.NotFound: 5, tool.Ambiguous: 5, tool.Busy: 6, tool.Limited: 6,
		tool.Timeout: 6, tool.Unavailable: 7, tool.Conflict: 7, tool.InDoubt: 8, tool.Cancelled: 130,
		tool.Failed: 1, tool.Internal: 1, "another": 1,
	} {
		if got := CodeOf(kind); got != want {
			t.Errorf("%q ends with %d, want %d", kind, got, want)
		}
	}
}

func TestCodeOfResult(t *testing.T) {
	t.Parallel()
	invalid := &tool.Error{Kind: tool.Invalid}
	tests := []struct {
		name string
		r    tool.Result
		want int
	}{
		{"success", tool.Result{Status: tool.Success}, 0},
		{"waiting", tool.Result{Status: tool.Waiting}, 4},
		{"waiting with an error", tool.Result{Status: tool.Waiting, Error: invalid}, 4},
		{"refused", tool.Result{Status: tool.Refused}, 3},
		{"refused, and why", tool.Result{Status: tool.Refused, Error: &tool.Error{Kind: tool.Limited}}, 6},
		{"failed", tool.Result{Status: tool.Failure}, 1},
		{"failed, and why", tool.Result{Status: tool.Failure, Error: invalid}, 2},
		{"no status", tool.Result{}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := codeOfResult(&tt.r); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	if Exit(0) != nil {
		t.Error("success is an error")
	}
	if err := Exit(4); !IsExit(err) || !IsExit(fmt.Errorf("in a wrapper: %w", err)) {
		t.Errorf("%v is not an exit", err)
	}
	if IsExit(nil) || IsExit(io.EOF) {
		t.Error("any error is an exit")
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	wrong := tool.Errorf("op", tool.NotFound, "there is no tool %q", "reed").WithHint("see callgate tools list")
	wrong.Similar = []string{"filesystem.read"}
	wrong.Fields = []tool.FieldError{{Path: "limit", Want: "a number", Got: "text"}, {Want: "an object", Got: "a list"}}
	wrong.Example = json.RawMessage(`{"path":"a<b"}`)
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"an exit says nothing", Exit(4), 4, ""},
		{"any error", io.ErrUnexpectedEOF, 1, "callgate: unexpected EOF\n"},
		{"a cause", &tool.Error{Kind: tool.Busy, Message: "no lock", Err: io.EOF}, 6, "callgate: no lock: EOF\n"},
		{"a cause that the message has", &tool.Error{Kind: tool.Busy, Message: "no lock: EOF", Err: io.EOF}, 6, "callgate: no lock: EOF\n"},
		{"everything", wrong, 5, `callgate: there is no tool "reed"
  did you mean filesystem.read?
  limit: wants a number, got text
  the arguments: wants an object, got a list
  see callgate tools list
  for example: {"path":"a<b"}
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, out, errs := newEnv(Flags{})
			if code := e.Fail(tt.err); code != tt.code || errs.String() != tt.want || out.Len() > 0 {
				t.Errorf("code %d, stderr:\n%s\nstdout:\n%s", code, errs, out)
			}
		})
	}
}

// With --json a failure is a result on standard output, and nothing else.
func TestFailAsJSON(t *testing.T) {
	t.Parallel()
	for kind, status := range map[tool.Kind]tool.Status{tool.Denied: tool.Refused, tool.Limited: tool.Refused, tool.Busy: tool.Failure} {
		e, out, errs := newEnv(Flags{JSON: true})
		code := e.Fail(tool.Errorf("op", kind, "no <way>"))
		var r tool.Result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if code != CodeOf(kind) || r.Status != status || r.Error.Kind != kind || errs.Len() > 0 || !strings.Contains(out.String(), "<way>") {
			t.Errorf("%s: %d %+v %s", kind, code, r, errs)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		r         tool.Result
		code      int
		out, errs string
	}{
		{
			"text",
			tool.Result{
				Status:   tool.Success,
				Summary:  "read it",
				Content:  []tool.Content{tool.Text("one\n"), tool.Text("two")},
				Warnings: []string{"old"},
			},
			0,
			"one\ntwo",
			"warning: old\nread it\n",
		},
		{"data that is text", tool.Result{Status: tool.Success, Summary: "s", Data: json.RawMessage(`"plain"`)}, 0, "plain\n", "s\n"},
		{"no data", tool.Result{Status: tool.Success, Summary: "done"}, 0, "", "done\n"},
		{"an artifact", tool.Result{Status: tool.Success, Summary: "long", ArtifactRef: "sha256:1"}, 0, "",
			"long\nthe full result: callgate artifacts get sha256:1\n"},
		{"waiting", tool.Result{Status: tool.Waiting, Summary: "x waits for a human: why (a human must answer; then approvals.collect gives its result)", Approval: "a1"}, 4, "",
			"callgate: x waits for a human: why\n  show      callgate approvals show a1\n" +
				"  approve   callgate approvals approve a1\n  deny      callgate approvals deny a1\n"},
		{"refused without a reason", tool.Result{Status: tool.Refused, Summary: "no"}, 3, "", "callgate: no\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, out, errs := newEnv(Flags{})
			err := e.Result(&tt.r, "")
			if code := exitCode(err); code != tt.code || out.String() != tt.out || errs.String() != tt.errs {
				t.Errorf("code %d, stdout %q, stderr %q", code, out, errs)
			}
		})
	}
}

func exitCode(err error) int {
	var e exitError
	if errors.As(err, &e) {
		return int(e)
	}
	return 0
}

func TestWriteError(t *testing.T) {
	t.Parallel()
	own := tool.Errorf("op", tool.Busy, "own")
	if WriteError(nil) != nil || WriteError(own) != error(own) {
		t.Error("an error of our own was changed")
	}
	if err := WriteError(io.ErrClosedPipe); tool.KindOf(err) != tool.Failed || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// A file appears whole, or not at all.
func TestToFile(t *testing.T) {
	t.Parallel()
	e, out, _ := newEnv(Flags{})
	e.Dir = t.TempDir()
	words := func(w io.Writer) error { _, err := io.WriteString(w, "words"); return err }
	for _, path := range []string{"", "-"} {
		out.Reset()
		if err := e.ToFile(path, words); err != nil || out.String() != "words" {
			t.Errorf("to standard output: %q %v", out, err)
		}
	}
	if err := e.ToFile("kept.txt", words); err != nil {
		t.Fatal(err)
	}
	failing := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return io.ErrUnexpectedEOF }
	for _, path := range []string{"kept.txt", "new.txt"} {
		if err := e.ToFile(path, failing); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(e.Dir, "kept.txt")); err != nil || string(data) != "words" {
		t.Errorf("a failure left %q: %v", data, err)
	}
	files, err := os.ReadDir(e.Dir)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v: %v", files, err)
	}
	if err := e.ToFile("none/x.txt", words); tool.KindOf(err) != tool.Failed {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestSelf(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"": "callgate", "/tmp/x y": "callgate --state '/tmp/x y'", "it's": `callgate --state 'it'\''s'`,
	} {
		if got := (&Flags{State: state}).Self(); got != want {
			t.Errorf("%q: got %q, want %q", state, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{}
	e := New(Host{Dir: dir, Getenv: func(name string) string { return env[name] }})
	if got, err := e.WorkspaceDir(); err != nil || got != dir {
		t.Errorf("the workspace is %s: %v", got, err)
	}
	if got, err := e.AppPath(); err != nil || got != "" {
		t.Errorf("no app file is %q: %v", got, err)
	}
	e.Workspace, e.AppFile = "sub", "../app.yaml"
	if got, err := e.WorkspaceDir(); err != nil || got != filepath.Join(dir, "sub") {
		t.Errorf("the workspace is %s: %v", got, err)
	}
	if got, err := e.AppPath(); err != nil || got != filepath.Join(filepath.Dir(dir), "app.yaml") {
		t.Errorf("the app file is %s: %v", got, err)
	}
	if got := e.Path(dir); got != dir {
		t.Errorf("an absolute path is %s", got)
	}
	env["CALLGATE_STATE"] = "env-state"
	if got, err := e.StateDir(); err != nil || string(got) != filepath.Join(dir, "env-state") {
		t.Errorf("the environment's state is %v: %v", got, err)
	}
	e.State = "flag-state"
	if got, err := e.StateDir(); err != nil || string(got) != filepath.Join(dir, "flag-state") {
		t.Errorf("the flag's state is %v: %v", got, err)
	}
}

func TestUnknownCommand(t *testing.T) {
	t.Parallel()
	e, _, _ := newEnv(Flags{})
	leaf := func(name string) *cobra.Command {
		return e.Leaf(&cobra.Command{Use: name}, func(context.Context, []string) error { return nil })
	}
	hidden := leaf("lisst")
	hidden.Hidden = true
	group := e.Group(&cobra.Command{Use: "tools", SilenceErrors: true, SilenceUsage: true}, leaf("list"), leaf("show"), hidden)
	group.CompletionOptions.DisableDefaultCmd = true
	group.SetArgs([]string{"lits"})
	err := group.Execute()
	var wrong *tool.Error
	if !errors.As(err, &wrong) || wrong.Kind != tool.Invalid || wrong.Similar[0] != "list" || wrong.Hint != "its commands: list, show" {
		t.Errorf("got %+v", wrong)
	}
	if !e.Started() {
		t.Error("a command that ran has not started")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	e, _, _ := newEnv(Flags{})
	cmd := e.Leaf(&cobra.Command{Use: "call", SilenceErrors: true, SilenceUsage: true}, func(context.Context, []string) error { return nil })
	e.Bind(cmd.PersistentFlags())
	cmd.SetFlagErrorFunc(Usage)
	cmd.SetArgs([]string{"--wrokspace", "x"})
	err := cmd.Execute()
	var wrong *tool.Error
	if !errors.As(err, &wrong) || wrong.Kind != tool.Invalid || len(wrong.Similar) == 0 || wrong.Similar[0] != "--workspace" ||
		wrong.Hint != "see call --help" {
		t.Errorf("got %+v", wrong)
	}
	if e.Started() {
		t.Error("a command line that was not understood has started")
	}
	own := tool.Errorf("op", tool.Denied, "own")
	if Usage(cmd, own) != error(own) {
		t.Error("an error of our own was changed")
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	complete := CompleteFirst(func(ctx context.Context) []string {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > completionTimeout {
			t.Error("a completion may take for ever")
		}
		return []string{"one"}
	})
	cmd := &cobra.Command{}
	if got, how := complete(cmd, nil, ""); len(got) != 1 || how != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("the first argument: %v %v", got, how)
	}
	if got, _ := complete(cmd, []string{"one"}, ""); got != nil {
		t.Errorf("the second argument: %v", got)
	}
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{`{ "a" : "<&>" }`: `{"a":"<&>"}`, `not JSON`: `not JSON`, `[1,2]`: `[1,2]`} {
		if got := plainJSON(json.RawMessage(data)); got != want {
			t.Errorf("%s: got %s", data, got)
		}
	}
}
