//go:build unix

package executable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/launch"
	"callgate/internal/programtest"
	"callgate/internal/sandbox"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// one loads a tool that is one script.
func one(t testing.TB, runtime, text string, opt executable.Options) *tool.Tool {
	t.Helper()
	needSandbox(t)
	opt.Dir = files{"x.json": manifest("test.tool", runtime), "x": text}.write(t, filepath.Join(t.TempDir(), "tools"))
	tools, problems, err := load(t, opt)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return tools["test.tool"]
}

// sh is a shell script.
func sh(lines ...string) string { return "#!/bin/sh\n" + strings.Join(lines, "\n") + "\n" }

// execute runs a tool once in a fresh workspace.
func execute(t testing.TB, x *tool.Tool, args string) (*tool.Result, error) {
	t.Helper()
	return x.Handler.Execute(
		t.Context(),
		tool.Call{ID: "call-1", Args: json.RawMessage(args)},
		tool.Grant{Workspace: t.TempDir(), Network: x.Runtime.Network},
	)
}

// nap is the n-th sleep command of these tests, which nothing else on this machine runs.
func nap(n int) string { return fmt.Sprintf("sleep 8639%d.%d", n, os.Getpid()) }

// needSandbox skips a test on a machine without a sandbox.
func needSandbox(t testing.TB) {
	t.Helper()
	if sandbox.Probe().Level == sandbox.Process {
		t.Skip("this machine has no sandbox")
	}
}

// expectGone fails when a process with this word in its command line lives.
func expectGone(t testing.TB, word string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(word)) {
			t.Errorf("%s still runs: %q", filepath.Dir(name), text)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		args   string
		want   *tool.Result
	}{
		{"data", sh(`echo '{"n": 5}'`), "{}", &tool.Result{Status: tool.Success, Summary: `{"n": 5}`, Data: json.RawMessage(`{"n": 5}`)}},
		{"the arguments and a line feed", sh(`cd "$CALLGATE_WORKSPACE"; read line; cat >rest; test ! -s rest; printf '{"got": %s, "rest": %s}' "$line" "$?"`), `{"a":"b c"}`,
			&tool.Result{Status: tool.Success, Summary: `{"got": {"a":"b c"}, "rest": 0}`, Data: json.RawMessage(`{"got": {"a":"b c"}, "rest": 0}`)}},
		{"no arguments", sh("cat"), "", &tool.Result{Status: tool.Success, Summary: `{}`, Data: json.RawMessage(`{}`)}},
		{"envelope", sh(`echo '{"status": "success", "summary": "committed", "artifact_ref": "hash123"}'`), "{}",
			&tool.Result{Status: tool.Success, Summary: "committed", Warnings: []string{"it names an artifact, which a program cannot store; what it keeps belongs in a file of the workspace"}}},
		{"envelope of a failure", sh(`echo '{"status": "error", "summary": "nothing to commit"}'`), "{}",
			&tool.Result{Status: tool.Failure, Summary: "nothing to commit", Error: tool.Errorf("executable.Execute", tool.Failed, "nothing to commit")}},
		{"envelope of a refusal", sh(`echo '{"status": "denied", "summary": "not on main"}'`), "{}",
			&tool.Result{Status: tool.Refused, Summary: "not on main", Error: tool.Errorf("executable.Execute", tool.Denied, "not on main")}},
		{"envelope that claims an approval", sh(`echo '{"status": "success", "summary": "x", "call": "c9", "approval": "a9"}'`), "{}",
			&tool.Result{Status: tool.Success, Summary: "x"}},
		{"a status that only the kernel gives", sh(`echo '{"status": "waiting", "summary": "x"}'`), "{}",
			&tool.Result{Status: tool.Success, Summary: `{"status": "waiting", "summary": "x"}`, Data: json.RawMessage(`{"status": "waiting", "summary": "x"}`)}},
		{"nothing", sh("true"), "{}", &tool.Result{Status: tool.Success, Summary: "done"}},
		{"white space", sh("echo; echo"), "{}", &tool.Result{Status: tool.Success, Summary: "done"}},
		{"a log", sh(`echo '\033[31mlooking\033[0m' >&2; echo 1`), "{}",
			&tool.Result{Status: tool.Success, Summary: "1", Data: json.RawMessage("1"), Warnings: []string{"test.tool wrote 17 bytes to its log, which ends: looking"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := execute(t, one(t, "", c.script, executable.Options{}), c.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An executable starts in an empty folder, and loads nothing of the workspace; with
// cwd: workspace it starts there, and who accepts it is told so.
func TestWhereExecutablesStart(t *testing.T) {
	const script = `printf '{"in": "%s", "safe": "%s"}' "$PWD" "$PYTHONSAFEPATH"`
	for runtime, inside := range map[string]bool{``: false, `"cwd": "own"`: false, `"cwd": "workspace"`: true} {
		folders := launch.Folders(filepath.Join(t.TempDir(), "start"))
		x, workspace := one(t, runtime, sh(script), executable.Options{Folders: folders}), t.TempDir()
		r, err := x.Handler.Execute(t.Context(), tool.Call{ID: "c"}, tool.Grant{Workspace: workspace})
		must(t, err)
		var got struct{ In, Safe string }
		must(t, json.Unmarshal(r.Data, &got))
		if (got.In == workspace) != inside || strings.HasPrefix(got.In, string(folders)) == inside || (got.Safe == "") != inside {
			t.Errorf("%q: it starts in %+v", runtime, got)
		}
		if told := strings.Contains(executable.Given(x, "/"), "the workspace as its working directory"); told != inside {
			t.Errorf("%q: a human is told %s", runtime, executable.Given(x, "/"))
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PASSED_ON", "yes")
	t.Setenv("KEPT_BACK", "secret of the kernel")
	x := one(t, `"env": ["PASSED_ON", "NOT_SET"], "secret_resources": ["git_identity"], "args": ["-v", "two words"]`,
		sh(`pwd; printf '%s\n' "$@"; env`)+"exit 1\n", executable.Options{})
	workspace := t.TempDir()
	_, err := x.Handler.Execute(t.Context(), tool.Call{ID: "call-7"}, tool.Grant{
		Workspace: workspace, Secrets: map[string]string{"git_identity": "me", "other": "not this one"},
	})
	got := err.Error()
	for _, want := range []string{
		"printed: /\n-v\ntwo words\n", "\nPASSED_ON=yes", "\ngit_identity=me", "\nPATH=",
		"\nCALLGATE_CALL=call-7", "\nCALLGATE_TOOL=test.tool", "\nCALLGATE_WORKSPACE=" + workspace,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	for _, never := range []string{"KEPT_BACK", "NOT_SET", "not this one"} {
		if strings.Contains(got, never) {
			t.Errorf("%q in %s", never, got)
		}
	}
}

func TestSecretThatWasNotGiven(t *testing.T) {
	x := one(t, `"secret_resources": ["git_identity"]`, sh("touch ran"), executable.Options{})
	for name, secrets := range map[string]map[string]string{"missing": nil, "zero byte": {"git_identity": "a\x00b"}} {
		workspace := t.TempDir()
		_, err := x.Handler.Execute(t.Context(), tool.Call{}, tool.Grant{Workspace: workspace, Secrets: secrets})
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "git_identity") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(workspace + "/ran"); err == nil {
			t.Errorf("%s: it ran all the same", name)
		}
	}
}

// TestMisbehaviour has executables do what they should not. Each must end with
// an error that says what happened, long before anybody loses patience, and
// leave no process behind.
func TestMisbehaviour(t *testing.T) {
	sleep, marker := nap(9), fmt.Sprintf("marker-%d", os.Getpid())
	for _, c := range []struct {
		name    string
		runtime string
		script  string
		args    string
		kind    tool.Kind // "": it succeeds
		want    string    // a part of the error
	}{
		{"never reads stdin", "", sh(`echo 1`), `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, "", ""},
		{"never reads stdin nor ends", `"timeout_ms": 200`, sh(sleep), `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, tool.Timeout, "did not finish within 200ms, so it was stopped"},
		{"prints a gigabyte", "", sh(`head -c 1000000000 /dev/zero | tr '\0' x`), "{}", tool.Failed, "printed more than 1048576 bytes to stdout, so it was stopped"},
		{"prints more than its manifest allows", `"max_output": 10`, sh(`echo '"0123456789"'`), "{}", tool.Failed, "printed more than 10 bytes to stdout"},
		{"prints all that its manifest allows", `"max_output": 10`, sh(`printf '"01234567"'`), "{}", "", ""},
		{"invalid UTF-8", "", sh(`printf '{"a": "\377\376"}'`), "{}", tool.Failed, `answered with bytes that are not UTF-8 (at byte 7)`},
		{"exit 0 with garbage", "", sh(`echo 'Segmentation fault (just kidding)'`), "{}", tool.Failed, `answered with text that is not JSON: "Segmentation fault (just kidding)"`},
		{"two values", "", sh(`echo 1; echo 2`), "{}", tool.Failed, "answered with text that is not JSON"},
		{"fails with a log", "", sh(`echo first >&2; echo 'no such branch' >&2; exit 3`), "{}", tool.Failed, "failed with exit code 3; its log ends: first\nno such branch"},
		{"fails with an envelope", "", sh(`echo '{"status": "error", "summary": "no such branch"}'; exit 3`), "{}", tool.Failed, "failed with exit code 3: no such branch"},
		{"fails with words on stdout", "", sh(`echo usage: x; exit 2`), "{}", tool.Failed, "failed with exit code 2; it printed: usage: x"},
		{"fails without a word", "", sh(`exit 9`), "{}", tool.Failed, "failed with exit code 9 and said nothing"},
		{"ends itself with a signal", "", sh(`kill -SEGV $$`), "{}", tool.Failed, "was ended by the signal SIGSEGV"},
		{"is killed while it changes something", `"side_effect": "write"`, sh(`kill -KILL $$`), "{}", tool.InDoubt, "was ended by the signal SIGKILL in the middle of its work"},
		{"is killed while it reads", `"side_effect": "read"`, sh(`kill -KILL $$`), "{}", tool.Failed, "was ended by the signal SIGKILL"},
		{"writes to stderr for ever", `"timeout_ms": 20000`, sh(`yes for ever >&2`), "{}", tool.Failed, "printed more than 64 MiB to stderr, so it was stopped; its log ends: … for ever"},
		{"colours and cursor moves", "", sh(`printf '\033[2J\033]0;title\007bad\r\n' >&2; exit 1`), "{}", tool.Failed, "its log ends: bad"},
		{"ignores SIGTERM", `"timeout_ms": 200`, sh(`trap '' TERM INT HUP`, `while :; do `+sleep+`; done`), "{}", tool.Timeout, "did not finish within 200ms"},
		{"ends politely when its time is up", `"timeout_ms": 200`, sh(`trap 'exit 0' TERM`, sleep+` & wait`), "{}", tool.Timeout, "did not finish within 200ms"},
		{"cannot be started", "", "#!/etc/passwd\n", "{}", tool.Failed, "could not be started"},
		{"cannot be started, though it is a program", "", "\x7fELF\x00broken", "{}", tool.Failed, "could not be started: "},
		{"forks and detaches", "", sh(`(setsid sh -c '`+sleep+`' `+marker+` >/dev/null 2>&1 &)`, `echo 1`), "{}", "", ""},
		{"forks, detaches and keeps the pipes", "", sh(`(setsid sh -c '`+sleep+`' `+marker+` &)`, `echo 1`), "{}", "", ""},
		{"forks and fails", "", sh(sleep+` &`, `exit 4`), "{}", tool.Failed, "failed with exit code 4"},
		{"forks without end", `"timeout_ms": 500`, sh(`f() { f & f & `+sleep+`; }`, `f & exec `+sleep), "{}", tool.Timeout, "did not finish within 500ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := execute(t, one(t, c.runtime, c.script, executable.Options{}), c.args)
			switch {
			case c.kind == "" && err != nil:
				t.Errorf("it failed: %v", err)
			case c.name == "forks without end" && err != nil && strings.Contains(err.Error(), "took too much: processes"):
				// Its number was up before its time was: either ends it.
			case c.kind != "" && (tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got  %+v %v\nwant %s: %s", got, err, c.kind, c.want)
			case err != nil && len(err.Error()) > 8<<10:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			expectGone(t, marker)
			expectGone(t, sleep[len("sleep "):])
		})
	}
}

func TestNoWorkspace(t *testing.T) {
	_, err := one(t, "", script, executable.Options{}).Handler.Execute(t.Context(), tool.Call{}, tool.Grant{})
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "needs a folder to run in") {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	x := one(t, "", sh(`echo running >"$CALLGATE_WORKSPACE/pipe"`, nap(8)), executable.Options{})
	workspace := t.TempDir()
	must(t, syscall.Mkfifo(workspace+"/pipe", 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(workspace + "/pipe") // returns when it runs
		cancel()
	}()
	_, err := x.Handler.Execute(ctx, tool.Call{}, tool.Grant{Workspace: workspace})
	if tool.KindOf(err) != tool.Cancelled || !strings.Contains(err.Error(), "was stopped, because the call was cancelled") {
		t.Error(err)
	}
	expectGone(t, nap(8)[len("sleep "):])
}

func TestDeadlineOfTheCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	x := one(t, "", sh("exec "+nap(5)), executable.Options{})
	_, err := x.Handler.Execute(ctx, tool.Call{}, tool.Grant{Workspace: t.TempDir()})
	if tool.KindOf(err) != tool.Timeout {
		t.Error(err)
	}
}

func TestChangedExecutable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
		kind   tool.Kind
		want   string
	}{
		{"touched", func(t *testing.T, path string) { must(t, os.Chtimes(path, time.Now(), time.Now())) }, "", ""},
		{"written again the same", func(t *testing.T, path string) { programtest.Write(t, path, script) }, "", ""},
		{"replaced by the same", func(t *testing.T, path string) {
			programtest.Write(t, path+".new", script)
			must(t, os.Rename(path+".new", path))
		}, "", ""},
		{"appended to", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(script+"echo\n"), 0o755)) }, tool.Denied, "has changed since it was loaded, so it is not run"},
		{"changed to the same size and time", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.WriteFile(path, []byte(strings.Replace(script, "ok", "ko", 1)), 0o755))
			must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		}, tool.Denied, "reload the tools"},
		{"removed", func(t *testing.T, path string) { must(t, os.Remove(path)) }, tool.Unavailable, "is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := files{"x.json": manifest("test.tool", ""), "x": script}.write(t, t.TempDir())
			old := time.Now().Add(-time.Hour)
			must(t, os.Chtimes(folder+"/x", old, old))
			tools, problems, err := load(t, executable.Options{Dir: folder})
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			if _, err := execute(t, tools["test.tool"], "{}"); err != nil {
				t.Fatal(err)
			}
			c.change(t, folder+"/x")
			_, err = execute(t, tools["test.tool"], "{}")
			if c.kind == "" && err != nil || c.kind != "" && (tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	for _, c := range []struct {
		network string
		met     bool // connected to a server of this machine
		hint    string
	}{{"false", false, ""}, {"true", false, `"network": "direct"`}, {`"direct"`, true, ""}} {
		t.Run(c.network, func(t *testing.T) {
			if c.hint != "" && !sandbox.Probe().Namespaces {
				t.Skip("no namespaces here")
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer listener.Close()
			met := make(chan bool, 1)
			go func() {
				conn, err := listener.Accept()
				if err == nil {
					conn.Close()
				}
				met <- err == nil
			}()
			port := listener.Addr().(*net.TCPAddr).Port
			x := one(t, fmt.Sprintf(`"network": %s, "side_effect": "external"`, c.network),
				fmt.Sprintf("#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/%d && echo '\"met\"'\n", port), executable.Options{})
			_, err = execute(t, x, "{}")
			listener.Close()
			if got := <-met; got != c.met || (err == nil) != c.met {
				t.Errorf("connected %t, %v", got, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.hint) {
				t.Errorf("it says %v, want %s", err, c.hint)
			}
		})
	}
}

// The proxy that an executable is given says what it refuses, and why.
func TestNetworkIsGuarded(t *testing.T) {
	if !sandbox.Probe().Namespaces {
		t.Skip("no namespaces here")
	}
	x := one(t, `"network": true, "side_effect": "external"`, `#!/bin/bash
p=${HTTPS_PROXY#http://}; exec 3<>/dev/tcp/${p%:*}/${p#*:}
printf 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n' >&3; read -r line <&3; echo "$line" >&2; exit 1
`, executable.Options{})
	_, err := execute(t, x, "{}")
	if err == nil || !strings.Contains(err.Error(), "403 Forbidden") ||
		!strings.Contains(err.Error(), "is the metadata service of a cloud, not public") ||
		!strings.Contains(err.Error(), `"network": "direct"`) {
		t.Error(err)
	}
}

func TestFilesOutOfReach(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	files{".ssh/id_ed25519": "the key", "notes.txt": "private"}.write(t, home)
	files{"human.key": "the key"}.write(t, state)
	for _, c := range []struct{ name, runtime, path string }{
		{"the user's keys", "", home + "/.ssh/id_ed25519"},
		{"the rest of the home folder", "", home + "/notes.txt"},
		{"the kernel's state", "", state + "/human.key"},
		{"with the network too", `"network": true`, home + "/.ssh/id_ed25519"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := one(t, c.runtime, sh(`cat "`+c.path+`" && echo '"read"'`), executable.Options{Hidden: []string{state}})
			_, err := execute(t, x, "{}")
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "failed with exit code 1; its log ends: cat: ") ||
				strings.Contains(err.Error(), "the key") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestToolThatReadsCannotWrite(t *testing.T) {
	for effect, want := range map[string]bool{"none": false, "read": false, "write": true, "external": true} {
		t.Run(effect, func(t *testing.T) {
			x := one(t, `"side_effect": "`+effect+`"`, sh(`echo x >"$CALLGATE_WORKSPACE/made"`), executable.Options{})
			workspace := t.TempDir()
			_, err := x.Handler.Execute(t.Context(), tool.Call{}, tool.Grant{Workspace: workspace})
			_, found := os.Stat(workspace + "/made")
			if (err == nil) != want || (found == nil) != want {
				t.Errorf("wrote %t: %v", found == nil, err)
			}
		})
	}
}

func TestToolSeesWhatLiesBesideIt(t *testing.T) {
	folder := files{
		"x.json": manifest("test.tool", ""), "x": sh(`. "$(dirname "$0")/lib/answer.sh"`, `echo "$answer"`),
		"lib/answer.sh": "answer=42\n",
	}.write(t, t.TempDir())
	result, err := call(t, folder, "test.tool", "{}")
	if err != nil || string(result.Data) != "42" {
		t.Errorf("%+v %v", result, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	x := one(t, "", sh("cat"), executable.Options{})
	workspace := t.TempDir()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, i)
			got, err := x.Handler.Execute(t.Context(), tool.Call{Args: json.RawMessage(want)}, tool.Grant{Workspace: workspace})
			if err != nil || string(got.Data) != want {
				t.Errorf("%s: %+v %v", want, got, err)
			}
		})
	}
	wg.Wait()
}

func TestUnconfined(t *testing.T) {
	outside := files{"notes.txt": "1"}.write(t, t.TempDir())
	x := one(t, "", sh(`cat "`+outside+`/notes.txt"`), executable.Options{Unconfined: true})
	if got, err := execute(t, x, "{}"); err != nil || string(got.Data) != "1" {
		t.Errorf("%+v %v", got, err)
	}
}
