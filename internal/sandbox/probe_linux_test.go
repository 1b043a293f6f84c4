package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox"
)

// A container may answer every use of seccomp with "not permitted". Then there are no
// filters, and the report says so, rather than every command failing later.
func TestProbeWhereSeccompIsForbidden(t *testing.T) {
	const inside = "CALLGATE_TEST_FORBIDDEN_SECCOMP"
	if os.Getenv(inside) != "" {
		report, err := json.Marshal(sandbox.Probe())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv(inside), report, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	out := t.TempDir() + "/report"
	started := make(chan error, 1)
	go func() { // the filter binds this thread, which is never used again, and what it starts
		runtime.LockOSThread()
		if err := forbidSeccomp(); err != nil {
			started <- err
			return
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestProbeWhereSeccompIsForbidden$")
		cmd.Env = append(os.Environ(), inside+"="+out)
		started <- cmd.Run()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var report sandbox.Report
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if report.Seccomp || len(report.Notes) == 0 {
		t.Errorf("%+v", report)
	}
}

// forbidSeccomp makes seccomp(2) fail with EPERM for this thread.
func forbidSeccomp() error {
	const loadNumber = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	filter := []unix.SockFilter{
		{Code: loadNumber, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SECCOMP, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
