//go:build unix

package executable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/schema"
	"callgate/internal/programtest"
	"callgate/internal/registry"
	"callgate/internal/source/executable"
	"callgate/tool"
)

func check(raw json.RawMessage) error {
	_, err := schema.Compile(raw)
	return err
}

var _ registry.Source = (*executable.Source)(nil)

// manifest is a small manifest whose runtime view has these keys.
func manifest(name, runtime string) string {
	return fmt.Sprintf(
		`{"llm": {"name": %q, "description": "Does something.", "parameters": {"type": "object"}}, "runtime": {%s}}`,
		name,
		runtime,
	)
}

const script = "#!/bin/sh\necho '{\"ok\": true}'\n"

// files are a folder's: a name that ends with / is a folder, one that has no
// ending or ends with .sh is executable, "-> x" is a link.
type files map[string]string

func (f files) write(t testing.TB, folder string) string {
	t.Helper()
	for name, text := range f {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must(t, os.Symlink(target, path))
			continue
		}
		mode := os.FileMode(0o644)
		if ext := filepath.Ext(name); ext == "" || ext == ".sh" {
			mode = 0o755
		}
		programtest.Write(t, path, text)
		must(t, os.Chmod(path, mode)) // whatever the umask
	}
	return folder
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// load brings the tools of a folder by their names, and the problems without
// the folder's path.
func load(t testing.TB, opt executable.Options) (map[string]*tool.Tool, []string, error) {
	t.Helper()
	s := executable.New(opt)
	tools, err := s.Tools(t.Context())
	byName := map[string]*tool.Tool{}
	for _, one := range tools {
		byName[one.Spec.Name] = one
	}
	var problems []string
	for _, p := range s.Problems() {
		problems = append(problems, strings.ReplaceAll(p.String(), filepath.Dir(opt.Dir)+"/", ""))
	}
	return byName, problems, err
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	folder := files{
		"good.json": manifest("a.good", ""), "good": script,
		"bad.json": manifest("a.bad", `"tmeout_ms": 5`), "bad": script,
		"worse.json": `{"llm": `, "worse": script,
		"zzz.json": manifest("a.zzz", ""), "zzz": script,
		"notes.txt": "not a manifest", ".hidden.json": "not looked at", "sub.json/": "",
	}.write(t, filepath.Join(t.TempDir(), "global"))

	tools, problems, err := load(t, executable.Options{Dir: folder, Check: check})
	if err != nil || len(tools) != 2 || tools["a.good"] == nil || tools["a.zzz"] == nil {
		t.Errorf("%v %v", tools, err)
	}
	want := []string{
		`global/bad.json:1:108: runtime has no key "tmeout_ms" (did you mean timeout_ms?)`,
		`global/worse.json:1:9: the JSON ends too early (a bracket, a brace or a quote is not closed)`,
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	tools, problems, err = load(t, executable.Options{Dir: folder, Strict: true})
	if len(tools) > 0 || tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), "bad.json:1:108: runtime has no key") {
		t.Errorf("strict: %v %v", tools, err)
	}
	if diff := cmp.Diff(want[:1], problems); diff != "" {
		t.Errorf("strict (-want +got):\n%s", diff)
	}
}

func TestReloadForgetsOldProblems(t *testing.T) {
	t.Parallel()
	folder := files{"a.json": "{"}.write(t, t.TempDir())
	s := executable.New(executable.Options{Dir: folder})
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 0 || len(s.Problems()) != 1 {
		t.Fatalf("%v %v %v", tools, err, s.Problems())
	}
	files{"a.json": manifest("a.b", ""), "a": script}.write(t, folder)
	if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 1 || len(s.Problems()) != 0 {
		t.Fatalf("%v %v %v", tools, err, s.Problems())
	}
}

func TestSeedManifestLoadsFromItsFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "global")
	seed, err := os.ReadFile("manifest/testdata/git_commit.json")
	must(t, err)
	files{
		"git_commit.json": strings.Replace(string(seed), "/choir/tools/global", folder, 1), "git_commit": script,
	}.write(t, folder)
	tools, problems, err := load(t, executable.Options{Dir: folder, Check: check, Strict: true})
	if err != nil || tools["choir.fs.write"] == nil {
		t.Fatal(err, problems)
	}
}

func TestExecutables(t *testing.T) {
	t.Parallel()
	outside := files{"tool": script}.write(t, t.TempDir())
	for _, c := range []struct {
		name     string
		exec     string // runtime.exec_path
		files    files
		prepare  func(t *testing.T, folder string)
		absolute bool
		want     string // the problem; "": it loads
	}{
		{name: "beside the manifest", files: files{"x": script}},
		{name: "named", exec: "bin/tool.sh", files: files{"bin/tool.sh": script}},
		{name: "link inside", files: files{"real": script, "x": "-> real"}},
		{name: "binary", exec: "/bin/true", absolute: true},
		{name: "missing", want: `the executable "x" is not there (put it there, or name another with runtime.exec_path)`},
		{name: "named and missing", exec: "bin/x", want: `:1:126: the executable "bin/x" is not there (put it there, or name another with runtime.exec_path)`},
		{name: "sources", files: files{"x/main.go": "package main"}, want: "x is a folder of sources that has not been built (run callgate build)"},
		{name: "not executable", exec: "x.txt", files: files{"x.txt": script}, want: `:1:126: the file x.txt is not executable (mode 0644) (chmod +x x.txt)`},
		{name: "anybody may write it", files: files{"x": script}, prepare: func(t *testing.T, folder string) { must(t, os.Chmod(folder+"/x", 0o777)) },
			want: "anybody may change x (mode 0777) (chmod o-w x)"},
		{name: "anybody may write its folder", exec: "bin/x", files: files{"bin/x": script}, prepare: func(t *testing.T, folder string) { must(t, os.Chmod(folder+"/bin", 0o777)) },
			want: ":1:126: anybody may put files into the folder of x (mode 0777) (chmod o-w t/bin)"},
		{name: "anybody may write the manifest", files: files{"x": script}, prepare: func(t *testing.T, folder string) { must(t, os.Chmod(folder+"/x.json", 0o666)) },
			want: "anybody may change x.json (mode 0666) (chmod o-w x.json)"},
		{name: "pipe", prepare: func(t *testing.T, folder string) { must(t, syscall.Mkfifo(folder+"/x", 0o755)) },
			want: "the executable x is not a regular file"},
		{name: "dots", exec: "../x", files: files{"x": script}, want: `:1:126: the executable "../x" leads out of the tool folder (write a path below it)`},
		{name: "dots inside", exec: "bin/../../x", files: files{"bin/x": script}, want: `:1:126: the executable "bin/../../x" leads out of the tool folder (write a path below it)`},
		{name: "link outside", files: files{"x": "-> " + outside + "/tool"},
			want: `the executable "x" lies outside the tool folder, at OUTSIDE/tool (copy it beside the manifest, or have absolute paths allowed and name it by its own)`},
		{name: "link of a folder outside", exec: "bin/tool", files: files{"bin": "-> " + outside},
			want: `:1:126: the executable "bin/tool" lies outside the tool folder, at OUTSIDE/tool (copy it beside the manifest, or have absolute paths allowed and name it by its own)`},
		{name: "link outside where absolute paths are allowed", files: files{"x": "-> " + outside + "/tool"}, absolute: true,
			want: `the executable "x" lies outside the tool folder, at OUTSIDE/tool (copy it beside the manifest, or have absolute paths allowed and name it by its own)`},
		{name: "link in a circle", files: files{"x": "-> x"}, want: `the executable "x" cannot be found: EvalSymlinks: too many links`},
		{name: "absolute", exec: outside + "/tool", want: `:1:126: the executable "OUTSIDE/tool" lies outside the tool folder, at OUTSIDE/tool (copy it beside the manifest, or have absolute paths allowed and name it by its own)`},
		{name: "absolute and allowed", exec: outside + "/tool", absolute: true},
		{name: "empty", files: files{"x": ""}, want: "the executable x is empty"},
		{name: "text", files: files{"x": "echo hello\n"}, want: "the executable x is a text that does not say what runs it (begin it with a line such as #!/bin/sh)"},
		{name: "no interpreter", files: files{"x": "#!\necho\n"}, want: "the first line of x names no interpreter (write one, such as #!/bin/sh)"},
		{name: "unknown interpreter", files: files{"x": "#!/no/such/python -u\n"}, want: "x is to be run by /no/such/python, which is not there (install it, or write #!/usr/bin/env and its name)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "t")
			keys := ""
			if c.exec != "" {
				keys = `"exec_path": ` + quoted(c.exec)
			}
			files{"x.json": manifest("git.commit", keys)}.write(t, folder)
			c.files.write(t, folder)
			if c.prepare != nil {
				c.prepare(t, folder)
			}
			tools, problems, err := load(t, executable.Options{Dir: folder, Absolute: c.absolute})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.Join(problems, "\n"), outside, "OUTSIDE")
			want := c.want
			if want != "" && want[0] == ':' {
				want = "t/x.json" + want
			} else if want != "" {
				want = "t/x.json: " + want
			}
			if got != want || (want == "") != (len(tools) == 1) {
				t.Errorf("got  %s\nwant %s\nwith %d tools", got, want, len(tools))
			}
		})
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func TestManifestFiles(t *testing.T) {
	t.Parallel()
	outside := files{"x.json": manifest("a.b", "")}.write(t, t.TempDir())
	for _, c := range []struct {
		name    string
		files   files
		prepare func(t *testing.T, folder string)
		want    []string
	}{
		{name: "link inside", files: files{"real": script, "x": script, "real.json": manifest("a.b", ""), "x.json": "-> real.json"},
			want: []string{"t/x.json: a:b@1.0.0 is already declared by real.json (delete one of them, or give it another version)"}},
		{name: "link outside", files: files{"x": script, "x.json": "-> " + outside + "/x.json"},
			want: []string{"t/x.json: the manifest is a link that leads out of the tool folder (copy it into the folder)"}},
		{name: "pipe", files: files{"x": script}, prepare: func(t *testing.T, folder string) { must(t, syscall.Mkfifo(folder+"/x.json", 0o644)) },
			want: []string{"t/x.json: the manifest cannot be read: it is not a regular file"}},
		{name: "twice", files: files{"a": script, "b": script, "c": script, "a.json": manifest("a.b", ""), "b.json": manifest("a.b", ""), "c.json": manifest("a.b", `"version": "2"`)},
			want: []string{"t/b.json: a:b@1.0.0 is already declared by a.json (delete one of them, or give it another version)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := c.files.write(t, filepath.Join(t.TempDir(), "t"))
			if c.prepare != nil {
				c.prepare(t, folder)
			}
			_, problems, err := load(t, executable.Options{Dir: folder})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, problems); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := executable.New(executable.Options{Dir: filepath.Join(t.TempDir(), "none")})
	tools, err := s.Tools(t.Context())
	if tools != nil || tool.KindOf(err) != tool.NotFound || !errors.Is(err, os.ErrNotExist) || len(s.Problems()) != 1 {
		t.Errorf("%v %v %v", tools, err, s.Problems())
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	root := files{
		"global/x.json": manifest("git.commit", `"version": "2.0"`), "global/x": script,
		"global/y.json": manifest("git.push", ""), "global/y": script,
		"agent/x.json": manifest("git.commit", `"version": "1.0"`), "agent/x": script,
	}.write(t, t.TempDir())
	var r registry.Registry
	must(t, r.Add(registry.Global, executable.New(executable.Options{Dir: root + "/global"})))
	must(t, r.Add("shop", executable.New(executable.Options{Dir: root + "/agent"})))
	snap, err := r.Snapshot(t.Context())
	must(t, err)
	for scope, want := range map[string]string{"shop": "git:commit@1.0.0", "other": "git:commit@2.0.0"} {
		got, ok := snap.View(scope).Latest("git.commit")
		if !ok || got.ID.String() != want || snap.View(scope).Len() != 2 {
			t.Errorf("%s sees %v", scope, got)
		}
	}
}
