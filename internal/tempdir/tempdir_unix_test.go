//go:build unix

package tempdir_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/tempdir"
)

const makingVar = "CALLGATE_TEMPDIR_MAKING"

// TestMakingProcess makes a folder of each kind and waits, for the test below.
func TestMakingProcess(t *testing.T) {
	if os.Getenv(makingVar) == "" {
		t.Skip("another test starts it")
	}
	for _, kind := range []string{"run", "git", "private", "edit", "doctor"} {
		dir, err := tempdir.Make(kind)
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "in", "it"), 0o700)
		}
		if err == nil {
			err = os.Chmod(filepath.Join(dir, "in"), 0o500)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _ = os.Stdout.WriteString("made\n")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// What a killed process left is removed at once; what a living one has, what another
// container made, and what only looks like ours stays.
func TestSweepAfterAKill(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	killed, living := making(t), making(t)
	others := []string{"callgate-run-1.x", "callgate-other-1.1.0-x", "callgate-git-99999999.1.zzz-x", "callgate-git-12345"}
	for _, name := range others {
		if err := os.Mkdir(filepath.Join(temp, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(temp, "callgate-run-99999999.1.0-link")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, temp, "-"); n != 10+len(others)+1 {
		t.Fatalf("%d folders were made", n)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	mine, err := tempdir.Make("edit")
	if err != nil {
		t.Fatal(err)
	}
	tempdir.Sweep()
	if n := count(t, temp, "-"); n != 5+len(others)+2 {
		entries, _ := os.ReadDir(temp)
		t.Errorf("%d are left: %v", n, entries)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if err := living.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = living.Wait()
	tempdir.Sweep()
	if n := count(t, temp, "-"); n != len(others)+2 {
		t.Errorf("%d are left at the end", n)
	}
}

// TestRelativeTMPDIR tests that folders have absolute paths where TMPDIR is relative: those for whom they are made run in
// other folders.
func TestRelativeTMPDIR(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", "tmp")
	if err := os.Mkdir("tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := tempdir.Make("run")
	if err != nil || !filepath.IsAbs(dir) || filepath.Dir(dir) != tempdir.System() {
		t.Errorf("%q was made in %q: %v", dir, tempdir.System(), err)
	}
	if _, err := os.Stat(filepath.Join("tmp", filepath.Base(dir))); err != nil {
		t.Errorf("it is not in TMPDIR: %v", err)
	}
}

func making(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMakingProcess$")
	cmd.Env = append(os.Environ(), makingVar+"=1")
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "made\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

func count(t *testing.T, dir, part string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), part) {
			n++
		}
	}
	return n
}
