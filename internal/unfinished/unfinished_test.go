package unfinished_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/durable"
	"callgate/internal/programtest"
	"callgate/internal/unfinished"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	ok(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

const killedVar = "CALLGATE_UNFINISHED"

// TestKilledProcess writes unfinished files until it is killed.
func TestKilledProcess(t *testing.T) {
	where := os.Getenv(killedVar)
	if where == "" {
		t.Skip("another test starts it")
	}
	state, folders, _ := strings.Cut(where, "|")
	n, err := unfinished.Open(state)
	ok(t, err)
	for _, folder := range strings.Split(folders, "|") {
		ok(t, os.WriteFile(filepath.Join(folder, n.Name(folder)), []byte("half"), 0o600))
		ok(t, os.WriteFile(filepath.Join(folder, n.Name(folder)), []byte("half"), 0o600))
	}
	f, err := durable.New(state, "human.key")
	ok(t, err)
	_, err = f.Write([]byte("half"))
	ok(t, err)
	fmt.Println("written")
	programtest.Hang()
}

// kill runs the process above, and kills it when it has written its files.
func kill(t *testing.T, state string, folders ...string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	child.Env = append(os.Environ(), killedVar+"="+state+"|"+strings.Join(folders, "|"))
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	ok(t, child.Process.Kill())
	_ = child.Wait()
	if line != "written\n" {
		t.Fatalf("it says %q", line)
	}
}

// What a killed kernel left is gone with the next start, in the folders that it noted,
// and nothing else is: not the file of a kernel that lives, nor one of a user.
func TestFilesOfAKilledKernelAreRemoved(t *testing.T) {
	t.Parallel()
	state, other := t.TempDir(), t.TempDir()
	a, b := filepath.Join(t.TempDir(), "with \"odd\"\nname"), t.TempDir()
	ok(t, os.Mkdir(a, 0o700))
	gone := filepath.Join(t.TempDir(), "gone")
	ok(t, os.Mkdir(gone, 0o700))
	ok(t, os.WriteFile(filepath.Join(b, ".callgate-mine.tmp"), nil, 0o600))
	living, err := unfinished.Open(other)
	ok(t, err)
	alive := living.Name(b)
	ok(t, os.WriteFile(filepath.Join(b, alive), nil, 0o600))

	kill(t, state, a, b, gone)
	if len(names(t, a)) != 2 || len(names(t, b)) != 4 {
		t.Fatalf("a killed process left %q and %q", names(t, a), names(t, b))
	}
	ok(t, os.RemoveAll(gone))
	n, err := unfinished.Open(state)
	ok(t, err)
	if list := names(t, a); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
	want := []string{".callgate-mine.tmp", alive}
	slices.Sort(want)
	if list := names(t, b); !slices.Equal(list, want) {
		t.Errorf("left: %q, want %q", list, want)
	}
	if list := names(t, state); len(list) != 0 {
		t.Errorf("left in the state directory: %q", list)
	}
	ok(t, n.Close())
	_ = n.Name(a)
	ok(t, n.Close())
	if list := names(t, state); len(list) != 0 {
		t.Errorf("a kernel that ended by itself left %q", list)
	}
	ok(t, living.Close())
}

// A folder that cannot be cleared now is cleared by a later start.
func TestAFolderThatCannotBeClearedIsTriedAgain(t *testing.T) {
	t.Parallel()
	state, folder := t.TempDir(), t.TempDir()
	kill(t, state, folder)
	moved := folder + "-moved"
	ok(t, os.Rename(folder, moved))
	ok(t, os.WriteFile(folder, nil, 0o600)) // not a folder
	n, err := unfinished.Open(state)
	if err == nil {
		t.Error("nothing is reported")
	}
	_ = n.Name(t.TempDir())
	ok(t, n.Close())
	ok(t, os.Remove(folder))
	ok(t, os.Rename(moved, folder))
	_, err = unfinished.Open(state)
	ok(t, err)
	if list := names(t, folder); len(list) != 0 {
		t.Errorf("left: %q", list)
	}
}

// Notes that are damaged, or written by somebody else, remove nothing that is not a
// regular file with a kernel's name.
func FuzzNotes(f *testing.F) {
	f.Add("abc \"/tmp\"\n")
	f.Add("abc \"relative\"\nword")
	f.Add(" \"/\"\n../ \"/\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		state := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(state, "unfinished"), []byte(text), 0o600))
		kept := filepath.Join(state, "kept.tmp")
		ok(t, os.WriteFile(kept, nil, 0o600))
		n, _ := unfinished.Open(state)
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
		_ = n.Close()
	})
}
