package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/tool"
)

// Without user namespaces a contained run is refused. A relaxed one is made, its exit says
// what is missing, and a process that left its session and its environment ends with it.
func TestContainedWithoutNamespaces(t *testing.T) {
	t.Parallel()
	machine := Probe()
	machine.Namespaces, machine.Proc = false, false
	folder := t.TempDir()
	pid := filepath.Join(folder, "pid")
	var out bytes.Buffer
	const script = `( setsid env -i sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 8715' </dev/null >/dev/null 2>&1 & )
while ! [ -f pid ]; do :; done; echo done; exit 3`
	s := Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: folder, Env: os.Environ(), Stdout: &out, Mode: Contained,
		Hidden: []string{folder},
	}
	if _, err := runOn(t.Context(), s, machine); tool.KindOf(err) != tool.Unavailable || out.Len() > 0 {
		t.Fatalf("it ran: %v, %q", err, out.String())
	}
	s.Relaxed = true
	exit, err := runOn(t.Context(), s, machine)
	if err != nil || exit.Code != 3 || out.String() != "done\n" {
		t.Fatalf("%+v, %v, %q", exit, err, out.String())
	}
	if len(exit.Missing) != 1 || !strings.Contains(exit.Missing[0], "hide") {
		t.Errorf("it misses %q", exit.Missing)
	}
	number, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := os.ReadFile("/proc/" + strings.TrimSpace(string(number)) + "/cmdline"); err == nil && len(line) > 0 {
		t.Errorf("process %s runs on: %q", number, line)
	}
}

// A second name of a hidden folder may go while a run is planned: the run is planned again.
func TestContainedWhileMountsComeAndGo(t *testing.T) {
	t.Parallel()
	machine := Probe()
	if os.Geteuid() != 0 || !machine.Namespaces {
		t.Skip("mounting needs root, and hiding needs namespaces")
	}
	hidden, over := t.TempDir(), t.TempDir()
	done := make(chan struct{})
	var mounting sync.WaitGroup
	for n := range 4 {
		alias := filepath.Join(over, strconv.Itoa(n))
		mounting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if os.Mkdir(alias, 0o700) != nil || unix.Mount(hidden, alias, "", unix.MS_BIND, "") != nil {
					t.Error("the folder cannot be mounted")
					return
				}
				runtime.Gosched()
				_ = unix.Unmount(alias, unix.MNT_DETACH)
				_ = os.Remove(alias)
			}
		})
	}
	defer mounting.Wait()
	defer close(done)
	for range 60 {
		exit, err := runOn(t.Context(), Spec{
			Argv: []string{"/bin/true"}, Dir: over, Env: os.Environ(), Mode: Contained, Hidden: []string{hidden},
		}, machine)
		if err != nil || exit.Code != 0 {
			t.Fatalf("%+v, %v", exit, err)
		}
	}
}
