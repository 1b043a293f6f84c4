package netguardtest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inside marks the process that runs in the world.
const inside = "CALLGATE_GUARDTEST"

// enter reports whether this process is in a world for the test. Where it is
// not, it starts one that is and passes on what came of it.
func enter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		for _, line := range []string{"link set lo up", "route add local default dev lo", "-6 route add local default dev lo"} {
			if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				t.Skipf("ip %s: %v: %s", line, err, out)
			}
		}
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("the program ip is not here; install iproute2 to try guards in a network of their own")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
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
		t.Errorf("in the world: %v\n%s", err, out.String())
		return false
	}
	if strings.Contains(out.String(), "--- SKIP") {
		t.Skip(out.String())
	}
	t.Log(out.String())
	return false
}
