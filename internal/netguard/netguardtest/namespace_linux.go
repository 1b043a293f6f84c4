package netguardtest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// insideVar is set in the process that runs in the namespace, to the test's name.
const insideVar = "CALLGATE_GUARDTEST"

// enterNamespace reports whether this process runs in a namespace of the test.
// If not, it runs the test in a process that does, and passes on the outcome.
func enterNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVar) == t.Name() {
		for _, line := range []string{
			"link set lo up", "route add local default dev lo", "-6 route add local default dev lo",
		} {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				t.Skipf("ip %s: %v: %s", line, err, out)
			}
		}
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("ip is not installed: apt-get install iproute2")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideVar+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("this system gives no network namespace to a test: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("in the namespace: %v\n%s", err, out.String())
		return false
	}
	if strings.Contains(out.String(), "--- SKIP") {
		t.Skip(out.String())
	}
	t.Log(out.String())
	return false
}
