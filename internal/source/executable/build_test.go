//go:build unix

package executable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/source/executable"
	"callgate/tool"
)

// greeter is a Go tool: it greets who is named in its arguments.
const greeter = `package main

import (
	"encoding/json"
	"os"
)

func main() {
	var args struct{ Who string }
	json.NewDecoder(os.Stdin).Decode(&args)
	json.NewEncoder(os.Stdout).Encode(map[string]string{"greeting": "hello " + args.Who, "call": os.Getenv("CALLGATE_CALL")})
}
`

// maker is a build script: what it makes prints its argument.
const maker = "#!/bin/sh\nset -e\necho making\nprintf '#!/bin/sh\\necho \"\\\"%s\\\"\"\\n' \"$(cat word)\" >\"$OUT\"\n"

func build(t *testing.T, root string) (executable.Report, string, error) {
	t.Helper()
	needSandbox(t)
	var out bytes.Buffer
	report, err := executable.Build(t.Context(), executable.BuildOptions{Dir: root, Out: &out, Check: check})
	return report, out.String(), err
}

func lockOf(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, executable.LockName))
	must(t, err)
	return string(text)
}

// call runs one tool of a folder that loads without a problem.
func call(t *testing.T, folder, name, args string) (*tool.Result, error) {
	t.Helper()
	needSandbox(t)
	tools, problems, err := load(t, executable.Options{Dir: folder})
	if err != nil || len(problems) > 0 || tools[name] == nil {
		t.Fatalf("%s does not load: %v %v", name, err, problems)
	}
	return tools[name].Handler.Execute(t.Context(), tool.Call{ID: "c1", Args: json.RawMessage(args)}, tool.Grant{Workspace: t.TempDir()})
}

func TestBuild(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here")
	}
	root := files{
		"global/greet.json": manifest("hello.greet", `"version": "1.2"`), "global/greet/main.go": greeter,
		"global/say.json": manifest("hello.say", ""), "global/say/build.sh": maker, "global/say/word": "global",
		"global/plain.json": manifest("hello.plain", ""), "global/plain": script,
		"agent/say.json": manifest("hello.say", ""), "agent/say/build": maker, "agent/say/word": "agent",
	}.write(t, t.TempDir())

	report, out, err := build(t, root)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if report.Built != 3 || report.Reused != 0 || report.Lock == "" {
		t.Errorf("%+v", report)
	}
	wantOut := `hello.greet 1.2.0: building global/greet
hello.plain 1.0.0: global/plain
hello.say 1.0.0: building global/say
hello.say 1.0.0: building agent/say
hello.say: agent overrides global
`
	if diff := cmp.Diff(wantOut, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, e := range report.Tools {
		want := []string{"hello.greet global ", "hello.plain global ", "hello.say agent ", "hello.say global agent"}[i]
		if got := e.Name + " " + e.Layer + " " + e.OverriddenBy; got != want {
			t.Errorf("the lock says %q, want %q", got, want)
		}
		if e.Source != "" && !strings.HasPrefix(e.Built, e.Name+"/"+e.Version+"-") {
			t.Errorf("built to %s", e.Built)
		}
	}

	for _, c := range []struct{ folder, name, args, want string }{
		{"global", "hello.greet", `{"who": "you"}`, `{"call":"c1","greeting":"hello you"}`},
		{"global", "hello.say", `{}`, `"global"`},
		{"global", "hello.plain", `{}`, `{"ok": true}`},
		{"agent", "hello.say", `{}`, `"agent"`},
	} {
		result, err := call(t, filepath.Join(root, c.folder), c.name, c.args)
		if err != nil || strings.TrimSpace(string(result.Data)) != c.want {
			t.Errorf("%s of %s: %+v %v", c.name, c.folder, result, err)
		}
	}

	lock := lockOf(t, root)
	if strings.Contains(lock, root) {
		t.Errorf("the lock names this machine's folders:\n%s", lock)
	}
	report, _, err = build(t, root)
	if err != nil || report.Built != 0 || report.Reused != 3 {
		t.Errorf("the second build: %+v %v", report, err)
	}
	if diff := cmp.Diff(lock, lockOf(t, root)); diff != "" {
		t.Errorf("the second lock differs (-first +second):\n%s", diff)
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".cache", ".stage-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBuildWithVendoredModules(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command here")
	}
	root := files{
		"agent/x.json":                               manifest("hello.vendored", ""),
		"agent/x/go.mod":                             "module x\n\ngo 1.24\n\nrequire example.com/word v1.0.0\n",
		"agent/x/main.go":                            "package main\n\nimport \"example.com/word\"\n\nfunc main() { println(\"log\"); print(word.Word) }\n",
		"agent/x/vendor/modules.txt":                 "# example.com/word v1.0.0\n## explicit; go 1.24\nexample.com/word\n",
		"agent/x/vendor/example.com/word/word.go":    "package word\n\nconst Word = \"vendored\"\n",
		"agent/x/vendor/example.com/word/ignored.md": "",
	}.write(t, t.TempDir())
	if _, out, err := build(t, root); err != nil {
		t.Fatal(err, out)
	}
	result, err := call(t, root+"/agent", "hello.vendored", "{}")
	if err != nil || result.Summary != "done" || len(result.Warnings) != 1 || !strings.HasSuffix(result.Warnings[0], "ends: log\nvendored") {
		t.Errorf("%+v %v", result, err)
	}
}

func TestBuildSeesChanges(t *testing.T) {
	root := files{
		"agent/say.json": manifest("hello.say", ""), "agent/say/build.sh": maker, "agent/say/word": "one",
	}.write(t, t.TempDir())
	first, out, err := build(t, root)
	if err != nil {
		t.Fatal(err, out)
	}
	artifact := filepath.Join(root, ".cache", first.Tools[0].Built)

	// An artifact that somebody exchanged is neither loaded nor used again.
	must(t, os.Remove(artifact))
	must(t, os.WriteFile(artifact, []byte(script), 0o755))
	_, problems, _ := load(t, executable.Options{Dir: root + "/agent"})
	want := []string{
		"agent/say.json: the executable hello.say is not the one that tools.lock.json records (run callgate build if the change is meant)",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, _, err := build(t, root)
	if err != nil || again.Built != 1 {
		t.Errorf("%+v %v", again, err)
	}
	if diff := cmp.Diff(first.Tools, again.Tools); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}

	// Changed sources are built to another place.
	must(t, os.WriteFile(filepath.Join(root, "agent/say/word"), []byte("two"), 0o644))
	changed, _, err := build(t, root)
	if err != nil || changed.Built != 1 || changed.Tools[0].Built == first.Tools[0].Built {
		t.Errorf("%+v %v", changed, err)
	}
	result, err := call(t, root+"/agent", "hello.say", "{}")
	if err != nil || string(result.Data) != `"two"` {
		t.Errorf("%+v %v", result, err)
	}

	// What the lock does not record is not loaded.
	files{
		"agent/new.json": manifest("hello.new", ""),
		"agent/new":      script,
		"agent/say.json": manifest("hello.say", `"network": true`),
	}.write(
		t,
		root,
	)
	_, problems, _ = load(t, executable.Options{Dir: root + "/agent"})
	want = []string{
		"agent/new.json: tools.lock.json does not know this tool (run callgate build to have it recorded)",
		"agent/say.json: the manifest is not the one that tools.lock.json records (run callgate build if the change is meant)",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// What the lock records and is gone is told.
	must(t, os.Remove(filepath.Join(root, "agent/say.json")))
	_, problems, _ = load(t, executable.Options{Dir: root + "/agent"})
	if want := "agent/say.json: tools.lock.json records this manifest, and it is gone (run callgate build if that is meant)"; len(
		problems,
	) != 2 ||
		problems[1] != want {
		t.Errorf("%q", problems)
	}
}

func TestBuildFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		golang bool
		files  files
		want   string // a part of the error
	}{
		{"no layers", false, files{"x.json": "{}"}, "has no folder global or agent"},
		{"bad manifest", false, files{"agent/x.json": "{"}, "agent/x.json:1:2: the JSON ends too early"},
		{"no sources", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/README.md": "hm"}, "the folder x holds neither Go files nor a build script"},
		{"link in the sources", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": maker, "agent/x/word": "-> /etc/passwd"}, "word is not a regular file"},
		{"script fails", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": "#!/bin/sh\necho no compiler >&2\nexit 3\n"}, "a.b does not build; build.sh printed:\nno compiler"},
		{"script makes nothing", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": "#!/bin/sh\n"}, "build.sh ended well and made no file $OUT"},
		{"script makes a link", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": "#!/bin/sh\nln -s /bin/sh $OUT\n"}, "the build made no executable"},
		{"script makes a text", false, files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": "#!/bin/sh\necho hello >$OUT\n"}, "is a text that does not say what runs it"},
		{"Go does not compile", true, files{"agent/x.json": manifest("a.b", ""), "agent/x/main.go": "package main\n\nfunc main() { undefined() }\n"}, "./main.go:3:15: undefined: undefined"},
		{"Go needs the network", true, files{"agent/x.json": manifest("a.b", ""), "agent/x/main.go": "package main\n\nimport _ \"example.com/nowhere\"\n\nfunc main() {}\n", "agent/x/go.mod": "module x\n\ngo 1.24\n\nrequire example.com/nowhere v1.0.0\n"}, "GOPROXY=off"},
		{"Go library", true, files{"agent/x.json": manifest("a.b", ""), "agent/x/x.go": "package x\n"}, "made no executable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath("go"); err != nil && c.golang {
				t.Skip("no go command here")
			}
			root := c.files.write(t, t.TempDir())
			files{executable.LockName: "damaged"}.write(t, root)
			report, out, err := build(t, root)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if report.Lock != "" || lockOf(t, root) != "damaged" {
				t.Error("the lock was written all the same")
			}
			if len(report.Problems) > 0 && !strings.Contains(out, c.want) {
				t.Errorf("the progress does not tell: %s", out)
			}
			if left, _ := filepath.Glob(filepath.Join(root, ".cache", ".stage-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// waiter is a build script that tells when it runs, and then does not end.
func waiter(nap string) string { return sh("touch running", "echo still here", "exec "+nap) }

func TestBuildIsCancelled(t *testing.T) {
	needSandbox(t)
	root := files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": waiter(nap(7))}.write(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if found, _ := filepath.Glob(filepath.Join(root, ".cache/.stage-*/src/running")); len(found) > 0 {
				cancel()
			}
			runtime.Gosched()
		}
	}()
	report, err := executable.Build(ctx, executable.BuildOptions{Dir: root})
	if err == nil || report.Lock != "" || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("%+v %v", report, err)
	}
	expectGone(t, nap(7)[len("sleep "):])
}

func TestBuildTakesTooLong(t *testing.T) {
	needSandbox(t)
	root := files{"agent/x.json": manifest("a.b", ""), "agent/x/build.sh": waiter(nap(6))}.write(t, t.TempDir())
	_, err := executable.Build(t.Context(), executable.BuildOptions{Dir: root, Timeout: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "took longer than 300ms") {
		t.Error(err)
	}
	expectGone(t, nap(6)[len("sleep "):])
}

func TestDamagedLock(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":       "{",
		"unknown key":    `{"format": 1, "tool": []}`,
		"other format":   `{"format": 2, "tools": []}`,
		"out of the way": `{"format": 1, "tools": [{"name": "a.b", "built": "../../bin/sh"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := files{"agent/x.json": manifest("a.b", ""), "agent/x": script, executable.LockName: text}.write(t, t.TempDir())
			tools, problems, err := load(t, executable.Options{Dir: root + "/agent"})
			if len(tools) > 0 || err == nil || !strings.Contains(err.Error(), "run callgate build") || len(problems) != 1 {
				t.Errorf("%v %v %v", tools, problems, err)
			}
		})
	}
}
