//go:build unix

package shellcmd_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/shellcmd"
)

// Each command runs in one of the folders that it is known to run in, in bash itself.
func TestPlacesInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, bin, log := filepath.Join(root, "x", "y", "work"), filepath.Join(root, "bin"), filepath.Join(root, "log")
	for _, dir := range []string{filepath.Join(work, "a", "b"), filepath.Join(work, "c"), bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"p0", "p1", "p2"} {
		text := "#!/bin/sh\nprintf '%s %s\\n' \"${0##*/}\" \"$(pwd -P)\" >>\"$LOG\"\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	check := func(line string) bool {
		parsed := shellcmd.Parse(line)
		if parsed.Doubt != "" {
			return false
		}
		known := map[string][]string{}
		for _, c := range parsed.Each() {
			if len(c.Words) > 0 {
				known[c.Words[0].Text] = append(known[c.Words[0].Text], c.Places()...)
			}
		}
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), bash, "-c", line+"\nwait")
		cmd.Dir, cmd.Env = work, []string{"PATH=" + bin + ":/bin:/usr/bin", "LOG=" + log}
		_ = cmd.Run() // what it returns does not matter
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for ran := range strings.Lines(string(text)) {
			name, dir, _ := strings.Cut(strings.TrimSuffix(ran, "\n"), " ")
			in := func(place string) bool { return place == shellcmd.Anywhere || filepath.Join(work, place) == dir }
			if !slices.ContainsFunc(known[name], in) {
				t.Errorf("%q: %s ran in %s, and is known to run in %q", line, name, dir, known[name])
			}
		}
		return true
	}
	for _, line := range []string{
		"cd a && p0; p1", "cd a; p0", "cd no || p0", "cd no; p0", "(cd a; p0); p1", "cd a | p0; p1", "cd a & p0", "! cd no && p0",
		"if cd a; then p0; else p1; fi; p2", "for f in 1 2; do cd ..; p0; done; p1", "{ cd a; p0; }; p1", "p0 $(cd a; p1); p2",
		"sh -c 'cd a; p0'; p1", "eval 'cd a'; p0", "case x in x) cd a;; esac; p0", "cd a && cd b && p0 || p1", "pushd a; p0",
		"command cd a; p0", "cd a/../c; p0", "cd -- a; p0", "cd; p0", "cd a && (cd b && p0); p1", "cd a >/dev/null; p0", "time cd a; p0",
	} {
		check(line)
	}
	pieces := []string{
		"cd a", "cd b", "cd ..", "cd no", "cd ../c", "p0", "p1", "p2", " && ", " || ", "; ", "; ", " | ", " & ", "(", ")", "{ ", "; }", "! ",
		"if ", "; then ", "; else ", "; fi", "for f in 1 2; do ", "; done", "$(", " )", "sh -c '", "'", "eval '", "case x in x) ", ";; esac",
	}
	random := rand.New(rand.NewPCG(3, 4))
	for checked, tried := 0, 0; checked < 200 && tried < 200_000; tried++ {
		var b strings.Builder
		for range 3 + random.IntN(10) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		if line := b.String(); strings.Contains(line, "cd ") && strings.Contains(line, "p") && check(line) {
			checked++
		}
	}
}
