//go:build linux

// Package sandboxtest runs tests as on a machine that forbids a sandbox, such as a locked
// container. A filter of system calls does what the container's would, so that what a
// test sees is what a user sees there.
package sandboxtest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Lock is what a machine forbids.
type Lock int

// The locks.
const (
	NoNamespaces Lock = iota // as Docker's default: Landlock and seccomp are left
	NoSandbox                // neither namespaces nor Landlock
)

const variable = "CALLGATE_TEST_LOCKED"

// Inside runs the calling test once more, by its name, in a process under a lock, and
// reports whether this is that process. What the test prints there is in the log, and when
// it fails there it fails here.
func Inside(t *testing.T, l Lock) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		return true
	}
	type end struct {
		out []byte
		err error
	}
	ended := make(chan end, 1)
	go func() { // the filter binds this thread, which is never used again, and what it starts
		runtime.LockOSThread()
		if err := l.forbid(); err != nil {
			ended <- end{err: err}
			return
		}
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"="+t.Name())
		out, err := cmd.CombinedOutput()
		ended <- end{out, err}
	}()
	if e := <-ended; e.err != nil {
		t.Errorf("on a locked machine: %v\n%s", e.err, e.out)
	}
	return false
}

// forbid has system calls fail for this thread.
func (l Lock) forbid() error {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		is   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		has  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end  = unix.BPF_RET | unix.BPF_K

		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

		argument = 16 // the first, its low half
	)
	filter := []unix.SockFilter{{Code: load}}
	add := func(nr int, answer uint32) {
		filter = append(filter, unix.SockFilter{Code: is, K: uint32(nr), Jf: 1}, unix.SockFilter{Code: end, K: answer})
	}
	for _, nr := range []int{unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_PIVOT_ROOT} {
		add(nr, refuse)
	}
	add(unix.SYS_CLONE3, unknown) // whose flags a filter cannot read
	if l == NoSandbox {
		add(unix.SYS_LANDLOCK_CREATE_RULESET, unknown)
	}
	filter = append(filter,
		unix.SockFilter{Code: is, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: load, K: argument},
		unix.SockFilter{Code: has, K: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET, Jf: 1},
		unix.SockFilter{Code: end, K: refuse},
		unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
