package process_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto"

	"callgate/internal/module/browser/process"
	"callgate/internal/programtest"
	"callgate/tool"
)

func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, hint := range map[string]string{"": "apt-get install chromium", "/nowhere/browser": "config.executable"} {
		if name == "" && runtime.GOOS != "linux" {
			continue // browsers are found outside the PATH too
		}
		_, err := process.Find(name)
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), hint) {
			t.Errorf("the browser %q: %v", name, err)
		}
	}
}

// program returns the path of an executable that runs a shell script.
func program(t testing.TB, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	name := filepath.Join(t.TempDir(), "browser")
	programtest.Write(t, name, "#!/bin/sh\n"+script)
	return name
}

func TestNotABrowser(t *testing.T) {
	for name, c := range map[string]struct{ script, word string }{
		"says why":   {"echo 'x:FATAL: out of luck' >&2; exit 1", "out of luck"},
		"no sandbox": {"echo 'No usable sandbox!' >&2; exit 1", "user namespaces"},
		"quiet":      {"exit 0", "did not start"},
	} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			p, err := process.Start(process.Options{Executable: program(t, c.script), Temp: temp})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Pipe().Read(t.Context(), new(cdproto.Message)); err == nil {
				t.Fatal("it replied")
			}
			<-p.Done()
			err = p.Failed(context.Canceled)
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), c.word) {
				t.Errorf("%v does not say %q", err, c.word)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(temp); len(left) != 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

// The browser gets only the part of our environment that it needs, and a home of its own.
func TestEnvironment(t *testing.T) {
	t.Setenv("SOME_SECRET", "hush")
	script := `env > "$HOME/env"; echo "$@" >> "$HOME/env"`
	p, err := process.Start(process.Options{Executable: program(t, script), Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	text, err := os.ReadFile(filepath.Join(p.Folder(), "env"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hush") || !strings.Contains(string(text), "HOME="+p.Folder()) {
		t.Errorf("its environment is\n%s", text)
	}
	for _, flag := range []string{
		"--remote-debugging-pipe", "--proxy-bypass-list=<-loopback>", "--disable-quic", "--disable-extensions",
		"--user-data-dir=" + p.Folder(),
	} {
		if !strings.Contains(string(text), flag) {
			t.Errorf("%s is missing in\n%s", flag, text)
		}
	}
	if os.Geteuid() == 0 != strings.Contains(string(text), "--no-sandbox") || !p.Sandboxed {
		t.Errorf("as user %d: sandboxed %v\n%s", os.Geteuid(), p.Sandboxed, text)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestRelativeTMPDIR tests that the browser, which runs in its own folder, is told absolute paths where TMPDIR is relative.
func TestRelativeTMPDIR(t *testing.T) {
	browser := program(t, `echo "$HOME $TMPDIR $*" > "$HOME/env"`)
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", "tmp")
	if err := os.Mkdir("tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(process.Options{Executable: browser})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	text, err := os.ReadFile(filepath.Join(p.Folder(), "env"))
	temp := p.Folder() + "/"
	if os.Geteuid() == 0 { // in its sandbox it has one of its own
		temp = "/tmp "
	}
	if err != nil || !filepath.IsAbs(p.Folder()) || !strings.HasPrefix(string(text), p.Folder()+" "+temp) ||
		!strings.Contains(string(text), "--user-data-dir="+p.Folder()) {
		t.Errorf("its folder is %s, and it was told %s (%v)", p.Folder(), text, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A folder without an owner is removed; one that has an owner, or is being created, stays.
func TestSweep(t *testing.T) {
	temp := t.TempDir()
	create := func(name string, age time.Duration, parts ...string) string {
		dir := filepath.Join(temp, "callgate-browser-"+name)
		for _, part := range append(parts, "Default") {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(part)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, part), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(dir, when, when); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dead := create("dead", 0, "owner", "t/file")
	fresh, unowned := create("fresh", 0), create("unowned", 3*time.Hour)
	unlocked, half := create("unlocked", 0, "owner"), create("half", 3*time.Hour, "owner") // its owner is about to lock it
	other := filepath.Join(temp, "something-else")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := process.Start(process.Options{Executable: program(t, "cat <&3 >/dev/null"), Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	second, err := process.Start(process.Options{Executable: program(t, "cat <&3 >/dev/null"), Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		dead: false, unowned: false, half: false, fresh: true, unlocked: true, other: true, first.Folder(): true, second.Folder(): true,
	} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
	for _, p := range []*process.Process{first, second} {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.Folder()); err == nil {
			t.Error("a folder is left")
		}
	}
}

// Trying a browser says whether it shows a page, and if not, what to do.
func TestTry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"shows a page":     {`echo "<html></html>"`, ""},
		"shows nothing":    {`exit 0`, "it showed no page"},
		"fails":            {`echo "library missing" >&2; exit 1`, "library missing"},
		"has no sandbox":   {`echo "No usable sandbox! see the page" >&2; exit 1`, "unsandboxed to true"},
		"lost its sandbox": {`echo "The SUID sandbox helper is wrong" >&2; exit 1`, "unsandboxed to true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := process.Try(t.Context(), process.Options{Executable: program(t, c.script)})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
