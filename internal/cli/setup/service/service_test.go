package service

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func specs() map[string]Spec {
	return map[string]Spec{
		"plain": {Name: "callgate", Program: "/usr/local/bin/callgate", State: "/home/ann/.local/state/callgate"},
		"spaces": {
			Name: "callgate-1a2b3c4d", Program: "/home/ann/My Programs/100% $HOME/callgate", State: `/srv/a b/$x/c--d\e&<f>`,
			Env: []Variable{{"PATH", "/home/ann/my bin:/usr/bin"}, {"XDG_CONFIG_HOME", "/home/ann/50%"}},
		},
	}
}

// The files of both systems are as they were looked at.
func TestFiles(t *testing.T) {
	t.Parallel()
	for name, spec := range specs() {
		for suffix, write := range map[string]func(Spec) (string, error){".service": Unit, ".plist": Plist} {
			got, err := write(spec)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+suffix)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-golden +made):\n%s", golden, diff)
			}
			if back, ok := Read([]byte(got)); !ok || cmp.Diff(spec, back) != "" {
				t.Errorf("%s is read back as %+v, %v", golden, back, ok)
			}
		}
	}
}

// systemd itself reads the units, and finds the very words in them.
func TestUnitIsReadBySystemd(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd here")
	}
	dir := filepath.Join(t.TempDir(), `a b 100% $HOME`)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "callgate")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := Unit(Spec{Name: "callgate-test", Program: program, State: dir, Env: specs()["spaces"].Env})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "callgate-test.service")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, "verify", "--user", "--man=no", file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "callgate-test") {
		t.Errorf("systemd says %v: %s\n%s", err, out, text)
	}
}

// A property list is XML whose strings are the very words.
func TestPlistIsXML(t *testing.T) {
	t.Parallel()
	spec := specs()["spaces"]
	text, err := Plist(spec)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if words, ok := token.(xml.CharData); ok {
			found[string(words)] = true
		}
	}
	for _, word := range []string{spec.Name, spec.Program, spec.State, "up", "/home/ann/my bin:/usr/bin"} {
		if !found[word] {
			t.Errorf("%q is not in it:\n%s", word, text)
		}
	}
}

func TestWhatNoFileHolds(t *testing.T) {
	t.Parallel()
	for _, spec := range []Spec{
		{Name: "callgate", Program: "bin/callgate", State: "/s"},
		{Name: "callgate", Program: "/bin/callgate", State: ""},
		{Name: "callgate", Program: "/bin/call\ngate", State: "/s"},
		{Name: "callgate", Program: "/bin/callgate", State: "/s\xff"},
		{Name: "callgate", Program: "/bin/callgate", State: "/s", Env: []Variable{{"PATH", "a\rb"}}},
	} {
		for _, write := range []func(Spec) (string, error){Unit, Plist} {
			if text, err := write(spec); tool.KindOf(err) != tool.Invalid {
				t.Errorf("%+v gives %q, %v", spec, text, err)
			}
		}
	}
}

// systemd refuses such a program, so no unit is written for it.
func TestProgramThatSystemdRefuses(t *testing.T) {
	t.Parallel()
	for _, program := range []string{`/bin/call"gate`, `/bin/call\gate`, `/it's/callgate`} {
		if text, err := Unit(Spec{Name: "callgate", Program: program, State: "/s"}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s gives %q, %v", program, text, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	a, b := NameFor("/a", "/usual"), NameFor("/b", "/usual")
	if NameFor("/usual", "/usual") != "callgate" || a == b || !strings.HasPrefix(a, "callgate-") || a != NameFor("/a", "/usual") {
		t.Errorf("%q and %q", a, b)
	}
}

// FuzzRead reads any file; what it takes for a service of ours can be written again.
func FuzzRead(f *testing.F) {
	for _, spec := range specs() {
		for _, write := range []func(Spec) (string, error){Unit, Plist} {
			text, _ := write(spec)
			f.Add([]byte(text))
		}
	}
	f.Add([]byte("[Service]\nExecStart=/bin/true\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		s, ok := Read(file)
		if !ok {
			return
		}
		text, err := Plist(s)
		if back, again := Read([]byte(text)); err != nil || !again || cmp.Diff(s, back) != "" {
			t.Errorf("%+v comes back as %+v: %v", s, back, err)
		}
	})
}

// FuzzAnswers reads what managers write.
func FuzzAnswers(f *testing.F) {
	f.Add("UnitFileState=enabled\nActiveState=active\nMainPID=42\n")
	f.Add("gui/501/callgate = {\n\tstate = running\n\tpid = 42\n}")
	f.Fuzz(func(t *testing.T, out string) {
		for _, read := range []func(string, *State){readShow, readPrint} {
			var s State
			read(out, &s)
			if s.PID < 0 {
				t.Errorf("%q has process %d", out, s.PID)
			}
		}
	})
}

// answering is a manager's program that notes what it is told and answers like the real
// one, which does not run where tests do.
func answering(t *testing.T, name, script string) (path, log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	path = t.TempDir()
	log = filepath.Join(path, "log")
	text := "#!/bin/sh\necho \"$@\" >> '" + log + "'\n" + script
	if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, log
}

func find(t *testing.T, system, home, path string) *Manager {
	t.Helper()
	m, err := Find(system, func(name string) string { return map[string]string{"HOME": home, "PATH": path}[name] })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManagers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		system, program, script string
		want                    []string // what the manager is told, in order
	}{
		{"linux", "systemctl", `case "$2" in show) printf 'UnitFileState=enabled\nActiveState=active\nMainPID=42\n';; esac`,
			[]string{"daemon-reload", "enable callgate.service", "restart callgate.service", "show callgate.service",
				"disable --now callgate.service", "daemon-reload"}},
		{"darwin", "launchctl", `case "$1" in print) printf 'x = {\n\tstate = running\n\tpid = 42\n}\n';; bootout) exit 0;; esac`,
			[]string{"bootout gui/", "bootstrap gui/", "print gui/", "bootout gui/"}},
	} {
		t.Run(c.system, func(t *testing.T) {
			t.Parallel()
			path, log := answering(t, c.program, c.script)
			m := find(t, c.system, filepath.Join(t.TempDir(), "a home"), path)
			spec := specs()["plain"]
			if why, err := m.Install(t.Context(), spec); err != nil || why != "" {
				t.Fatal(why, err)
			}
			s, err := m.Status(t.Context(), spec.Name)
			if err != nil || !s.Exists || s.Changed || s.Foreign || !s.Enabled || !s.Running || s.PID != 42 {
				t.Errorf("it is %+v: %v", s, err)
			}
			if all := m.All(); len(all) != 1 || all[0].Program != spec.Program {
				t.Errorf("the services are %+v", all)
			}
			if err := m.Remove(t.Context(), spec.Name); err != nil {
				t.Error(err)
			}
			if s, err := m.Status(t.Context(), spec.Name); err != nil || s.Exists {
				t.Errorf("removed, it is %+v: %v", s, err)
			}
			told, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			rest := string(told)
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%s is not told %q in its place: %s", c.program, want, told)
				}
				rest = after
			}
		})
	}
}

// Without a manager the file is written, and it is said who could not be told, and how to.
func TestNoManager(t *testing.T) {
	t.Parallel()
	m := find(t, "linux", t.TempDir(), t.TempDir())
	why, err := m.Install(t.Context(), specs()["plain"])
	if err != nil || !strings.Contains(why, "no systemctl") {
		t.Fatal(why, err)
	}
	if lines := m.StartCommands("callgate"); lines[0] != "systemctl --user daemon-reload" {
		t.Errorf("it is started with %q", lines)
	}
	if s, err := m.Status(t.Context(), "callgate"); err != nil || !s.Exists || s.Manager == "" || s.Running {
		t.Errorf("it is %+v: %v", s, err)
	}
	if err := m.Remove(t.Context(), "callgate"); err != nil {
		t.Error(err)
	}
	if err := m.Remove(t.Context(), "callgate"); tool.KindOf(err) != tool.NotFound {
		t.Errorf("a second time: %v", err)
	}
}

// A systemd that does not run for this user is as good as none.
func TestManagerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	path, _ := answering(t, "systemctl", "echo Failed to connect to bus >&2; exit 1")
	m := find(t, "linux", t.TempDir(), path)
	if why, err := m.Install(t.Context(), specs()["plain"]); err != nil || !strings.Contains(why, "Failed to connect to bus") {
		t.Error(why, err)
	}
}

// Somebody else's file of that name is neither replaced nor removed, and one that was
// changed by hand is known.
func TestFilesOfOthers(t *testing.T) {
	t.Parallel()
	m := find(t, "linux", t.TempDir(), t.TempDir())
	file := m.File("callgate")
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(m.Folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("[Service]\nExecStart=/bin/true\n")
	if _, err := m.Install(t.Context(), specs()["plain"]); tool.KindOf(err) != tool.Conflict {
		t.Errorf("it is replaced: %v", err)
	}
	if err := m.Remove(t.Context(), "callgate"); tool.KindOf(err) != tool.Conflict {
		t.Errorf("it is removed: %v", err)
	}
	if s, err := m.Status(t.Context(), "callgate"); err != nil || !s.Foreign {
		t.Errorf("it is %+v: %v", s, err)
	}
	text, err := Unit(specs()["plain"])
	if err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(text, "RestartSec=2", "RestartSec=9", 1))
	if s, err := m.Status(t.Context(), "callgate"); err != nil || !s.Changed || s.Foreign {
		t.Errorf("it is %+v: %v", s, err)
	}
}

func TestOtherSystems(t *testing.T) {
	t.Parallel()
	home := func(string) string { return "/home" }
	if _, err := Find("windows", home); tool.KindOf(err) != tool.Unavailable {
		t.Error(err)
	}
	if _, err := Find("linux", func(string) string { return "" }); tool.KindOf(err) != tool.Unavailable {
		t.Error(err)
	}
}
