// Package programtest writes the programs that tests run.
package programtest

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Write writes a program that can be run at once. A child that another test starts
// while the file is open holds it open until it is a program of its own, and a file
// that is open for writing cannot be run ("text file busy"): so nothing is started
// meanwhile.
func Write(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}

// Hang never returns: a process that a test is to end calls it last. In a program without cgo, Go ends a process in
// which no goroutine can go on, such as one that is in select {}; it does not end one that reads.
func Hang() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	for {
		_, _ = r.Read(make([]byte, 1)) // nothing is ever written
		runtime.KeepAlive(w)
	}
}

// RunIgnoring runs one test of this program again, in a process that is started with some signals ignored: HUP, INT. A
// shell starts the background commands of a script so, and nohup what it runs.
func RunIgnoring(t *testing.T, test string, signals ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "trap '' "+strings.Join(signals, " ")+`; exec "$@"`, "sh",
		self, "-test.run=^"+test+"$", "-test.v")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("with %q ignored: %v\n%s", signals, err, out)
	case strings.Contains(string(out), "--- SKIP: "+test):
		t.Skipf("%s is skipped", test)
	case !strings.Contains(string(out), "--- PASS: "+test):
		t.Errorf("there is no test %s:\n%s", test, out)
	}
}
