package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/sandbox/mask"
)

// planted begins the content of every private file of a test's home.
const planted = "PLANTED"

// plantedHome makes a home in which every place of the table holds something, and Git's
// settings too, beside what toolchains have there. It returns the private files.
func plantedHome(t *testing.T) (home string, private []string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, content string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	names := credentialNames()
	slices.Sort(names)
	for _, name := range names {
		path := name
		isFolder := func(n string) bool { return strings.HasPrefix(n, name+"/") }
		if slices.ContainsFunc(names, isFolder) || !strings.Contains(filepath.Base(name)[1:], ".") {
			path = name + "/planted" // the name may be a folder's or a file's: a file in a folder tries both
		}
		private = append(private, put(path, planted+" "+name))
	}
	for _, name := range gitSettings {
		private = append(private, put(name, "[user]\n\tname = Ann\n[github]\n\ttoken = "+planted+" of git\n"))
	}
	for _, name := range homePaths {
		if path := filepath.Join(home, name); !slices.Contains(gitSettings, name) {
			if _, err := os.Stat(path); err == nil || strings.Contains(filepath.Base(name)[1:], ".") {
				put(name+"/seen", "tool")
			} else {
				put(name+"/bin/seen", "tool")
			}
		}
	}
	return home, private
}

// machines are this one, and what it would be with less.
func machines(t *testing.T) map[string]Report {
	t.Helper()
	m := Probe()
	all := map[string]Report{}
	if m.Namespaces {
		all["full"] = m
	}
	if m.Landlock > 0 && m.Seccomp {
		m.Namespaces, m.Proc = false, false
		all["filtered"] = m
	}
	if len(all) == 0 {
		t.Skip("this machine has no isolation")
	}
	return all
}

// Nothing that the lists show is private: not by the lists, and not by what a run sees of
// a home in which everything private exists.
func TestNothingPrivateIsShown(t *testing.T) {
	t.Parallel()
	names := credentialNames()
	for _, shown := range homePaths {
		for _, name := range names {
			isBelow := within(shown, name) // .config holds Git's settings, which are shown by name
			isSettings := name == settingsFolder && strings.HasPrefix(shown, settingsFolder+"/git/")
			if isBelow && !isSettings {
				t.Errorf("%s is shown, and lies in %s, which is private", shown, name)
			}
		}
	}
	home, private := plantedHome(t)
	work := t.TempDir()
	for _, env := range [][]string{
		{"HOME=" + home, "PATH=/usr/bin:/bin"},
		{"HOME=" + home, "PATH=/usr/bin:/bin:" + filepath.Join(home, ".config", "gh") + ":" + filepath.Join(home, ".config", "git") + ":" + filepath.Join(home, ".aws") + ":" +
			filepath.Join(home, ".cargo") + ":" + filepath.Join(home, ".local", "share"), "GOROOT=" + filepath.Join(home, ".ssh"),
			"CONDA_PREFIX=" + filepath.Join(home, "anaconda3"), "VIRTUAL_ENV=" + filepath.Join(home, ".config")},
	} {
		s := Spec{Argv: []string{"/bin/sh"}, Env: env, Workspace: work, Dir: work}
		l, err := s.layOut()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range l.places {
			for _, path := range private {
				if p.kind != text && (within(path, p.path) || within(p.path, path)) {
					t.Errorf("%s is shown by %s", path, p.path)
				}
			}
		}
		for _, h := range l.hide {
			if within(h.path, home) {
				t.Errorf("%s is only hidden, inside what is shown", h.path)
			}
		}
	}
}

// A run that tries to read each private file of a home reads none, at every level and in
// every mode, and reads the rest.
func TestPrivateFilesAreOutOfReach(t *testing.T) {
	t.Parallel()
	home, private := plantedHome(t)
	work := filepath.Join(home, "src", "project")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(work, "list")
	if err := os.WriteFile(list, []byte(strings.Join(private, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `while read -r f; do cat "$f" 2>/dev/null; cat "/proc/self/root$f" 2>/dev/null; done <"$LIST"
grep -rs ` + planted + ` "$HOME/.local" "$HOME/anaconda3" "$HOME/.cargo" "$HOME/.dotnet" "$HOME/.deno" 2>/dev/null
cat "$HOME/.gitconfig"; cat "$HOME/.cargo/bin/bin/seen" "$HOME/.cargo/bin/seen" 2>/dev/null; echo end`
	for level, machine := range machines(t) {
		for name, change := range map[string]func(*Spec){
			"a command":         func(*Spec) {},
			"with the network":  func(s *Spec) { s.Network = true },
			"to read only":      func(s *Spec) { s.ReadOnlyWorkspace = true },
			"contained":         func(s *Spec) { s.Mode = Contained },
			"the home to work":  func(s *Spec) { s.Workspace = home },
			"the home to read":  func(s *Spec) { s.Readable = []string{home} },
			"a home of its own": func(s *Spec) { s.Workspace = home; s.Network = true },
		} {
			t.Run(level+"/"+name, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				s := Spec{
					Argv: []string{"/bin/sh", "-c", script}, Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LIST=" + list},
					Workspace: work, Dir: work, Stdout: &out, Stderr: &out,
				}
				change(&s)
				if name == "the home to work" || name == "a home of its own" {
					s.Dir = home
				}
				_, err := runOn(t.Context(), s, machine)
				if level == "filtered" && err != nil && s.Mode == Contained {
					return // refused
				}
				if level == "filtered" && err != nil && (within(work, s.Workspace) && s.Workspace != work || len(s.Readable) > 0) {
					return // rules can only permit, so a home cannot be shown without what is private in it
				}
				if err != nil {
					t.Fatal(err)
				}
				said := out.String()
				if strings.Contains(said, planted) || !strings.HasSuffix(said, "end\n") {
					t.Errorf("it read %q", said)
				}
				if !strings.Contains(said, "tool") {
					t.Errorf("it cannot read toolchains: %q", said)
				}
				if name == "a command" && strings.Contains(said, "name = Ann") != (level == "full") {
					t.Errorf("Git's settings: %q", said)
				}
			})
		}
	}
}

// What the app file names as readable is shown, private or not, and nothing beside it.
func TestPrivateFileThatIsNamed(t *testing.T) {
	t.Parallel()
	home, _ := plantedHome(t)
	named, other := filepath.Join(home, ".aws"), filepath.Join(home, ".ssh", "planted")
	for level, machine := range machines(t) {
		var out bytes.Buffer
		work := t.TempDir()
		_, err := runOn(t.Context(), Spec{
			Argv: []string{"/bin/sh", "-c", "cat " + named + "/planted " + other + " 2>/dev/null; true"}, Workspace: work,
			Env: []string{"HOME=" + home, "PATH=/usr/bin:/bin"}, Readable: []string{named}, Stdout: &out,
		}, machine)
		if err != nil || out.String() != planted+" .aws" {
			t.Errorf("%s: %q, %v", level, out.String(), err)
		}
	}
}

// The table is hidden from a contained run, file by file.
func TestContainedHidesTheTable(t *testing.T) {
	t.Parallel()
	home, private := plantedHome(t)
	disk, err := mask.Plan(mask.Paths{Private: PrivatePaths(home)})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range private {
		if !disk.Hides(path) {
			t.Errorf("%s is not hidden", path)
		}
	}
}

// docs/RATIONALE.md has the table, row by row.
func TestTableIsDocumented(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "RATIONALE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, c := range credentials {
		row := fmt.Sprintf("| %s | `%s` | %s |\n", c.program, strings.Join(c.names, "`, `"), c.source)
		rows.WriteString(row)
	}
	if !strings.Contains(string(data), rows.String()) {
		t.Errorf("docs/RATIONALE.md must have these rows:\n%s", &rows)
	}
}
