package undoing_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/undoing"
	"callgate/internal/programtest"
)

// doomedVariable asks the test program to be a kernel that undoes and is killed; it says
// where.
const doomedVariable = "CALLGATE_TEST_UNDO"

type doomedPart struct{ State, Workspace, User, Call string }

// beDoomed undoes a call, and waits for its end.
func beDoomed(value string) {
	var part doomedPart
	if err := json.Unmarshal([]byte(value), &part); err != nil {
		panic(err)
	}
	k, err := kernel.Open(context.Background(), kernel.Config{State: part.State, UserFile: part.User})
	if err != nil {
		panic(err)
	}
	key, err := k.State().HumanKey()
	if err != nil {
		panic(err)
	}
	fmt.Println("begins")
	_, err = k.Undo.Undo(context.Background(), approval.Credential{Key: key, By: "ada", PID: approval.Unknown},
		undoing.Request{Target: undoing.Target{Call: part.Call}})
	fmt.Println("ended", err)
	programtest.Hang()
}

// An undo that is killed at any moment leaves each file as it was before or after, whole,
// and no other; repeated, it is complete. What it left unfinished is gone.
func TestKilledUndo(t *testing.T) {
	t.Parallel()
	const files, kills = 60, 4
	workspace, state := t.TempDir(), kerneltest.StateDir(t)
	user := filepath.Join(t.TempDir(), "callgate.yaml")
	kerneltest.Write(t, user, allowAll)
	var patch strings.Builder
	for i := range files {
		if i%3 > 0 {
			kerneltest.Write(t, filepath.Join(workspace, fmt.Sprintf("f%03d", i)), fmt.Sprintf("old %d\n", i))
		}
		switch i % 3 {
		case 0:
			fmt.Fprintf(&patch, "*** Add File: new/f%03d\n+new %d\n", i, i)
		case 1:
			fmt.Fprintf(&patch, "*** Update File: f%03d\n@@\n-old %d\n+new %d\n", i, i, i)
		default:
			fmt.Fprintf(&patch, "*** Delete File: f%03d\n", i)
		}
	}
	before := tree(t, workspace)
	args, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + patch.String() + "*** End Patch\n"})
	ok(t, err)
	halves := 0
	for range kills {
		k, s := openWith(t, kernel.Config{State: state, UserFile: user}, workspace)
		made := call(t, s, "filesystem.apply_patch", string(args))
		after := tree(t, workspace)
		ok(t, k.Close())
		part, err := json.Marshal(doomedPart{state, workspace, user, made.Call})
		ok(t, err)
		killDoomed(t, string(part), func() bool { // a file was put back, somewhere in the middle
			i := 3*rand.IntN(files/3) + 1
			return read(workspace, fmt.Sprintf("f%03d", i)) == fmt.Sprintf("old %d\n", i)
		})
		k, _ = openWith(t, kernel.Config{State: state, UserFile: user}, workspace)
		got := tree(t, workspace)
		for line := range strings.Lines(got) {
			if line = strings.TrimSpace(line); !strings.Contains(before, line) && !strings.Contains(after, line) {
				t.Errorf("it has %s, which was neither before nor after", line)
			}
		}
		if got != before && got != after {
			halves++
		}
		_, err = k.Undo.Undo(t.Context(), kerneltest.Human(t, k), undoing.Request{Target: undoing.Target{Call: made.Call}})
		ok(t, err)
		if got := tree(t, workspace); got != before {
			t.Fatalf("repeated, it is\n%s", got)
		}
		ok(t, k.Close())
	}
	if t.Logf("%d of %d kills left a part", halves, kills); halves == 0 {
		t.Error("no kill came in the middle")
	}
}

// killDoomed has another process undo, and kills it when it has come somewhere.
func killDoomed(t *testing.T, part string, reached func() bool) {
	t.Helper()
	exe, err := os.Executable()
	ok(t, err)
	child := exec.Command(exe)
	child.Env = append(os.Environ(), doomedVariable+"="+part, "CALLGATE_KEYRING=off")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	ok(t, err)
	ok(t, child.Start())
	defer func() { _ = child.Wait() }()
	ended := make(chan string, 8)
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			ended <- lines.Text()
		}
	}()
	if line := <-ended; line != "begins" {
		t.Fatalf("it says %q", line)
	}
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for !reached() {
		select {
		case <-tick.C:
		case line := <-ended:
			if line != "ended <nil>" {
				t.Errorf("it says %q", line)
			}
			ok(t, child.Process.Kill())
			return
		}
	}
	ok(t, child.Process.Kill())
}
