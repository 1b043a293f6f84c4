package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/prefork"
	"callgate/internal/sandbox/seccomp"
)

// probe tries everything that a run could use.
func (r *Report) probe() {
	if !launcher.Declared() {
		r.Notes = append(r.Notes, "this program cannot be its own sandbox helper: "+undeclaredHint)
		return
	}
	if !seccomp.Supported {
		r.Notes = append(r.Notes, "the sandbox does not know this processor's system calls: no isolation")
		return
	}
	if r.Landlock = landlockABI(); r.Landlock == 0 {
		r.Notes = append(r.Notes,
			"Landlock: this kernel has none (it came with 5.13), or starts without it (add landlock to lsm=)")
	}
	// Asked about no action at all, a system that lets us filter says that there is
	// none to read; one that forbids it, as some containers do, says something else.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, 0)
	if r.Seccomp = errno == unix.EFAULT; !r.Seccomp {
		r.Notes = append(r.Notes, fmt.Sprintf("seccomp: %v; the kernel has no filters, or the container forbids them", errno))
	}
	if err := tryNamespaces(true); err == nil {
		r.Namespaces, r.Proc = true, true
	} else if tryNamespaces(false) == nil {
		r.Namespaces = true
		r.Notes = append(r.Notes, fmt.Sprintf("a /proc of its own: %v; commands see that other processes exist", err))
	} else {
		r.Notes = append(r.Notes, fmt.Sprintf("user namespaces: %v; see kernel.apparmor_restrict_unprivileged_userns, "+
			"kernel.unprivileged_userns_clone and user.max_user_namespaces, or the container's own rules", err))
	}
	r.Cgroup = ownCgroup()
}

// tryNamespaces builds the namespaces and the view of a run that does nothing.
func tryNamespaces(fresh bool) error {
	l := &layout{}
	for _, path := range systemPaths {
		l.show(path)
	}
	l.sort()
	p := &launcher.Program{Init: true}
	addView(p, l, 1<<20, fresh)
	p.Fork = p.Calls()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	line, err := new(prefork.Pool).Run(ctx, prefork.Job{
		Namespaces: prefork.NewNamespaces(false), Grace: time.Second, Program: func() ([]byte, error) { return p.Encode(), nil },
	})
	if err != nil {
		return err
	}
	_, err = readStatus(line)
	return err
}

// ownCgroup reports whether this user may divide the control group of this
// process.
func ownCgroup() bool {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return unix.Access(filepath.Join("/sys/fs/cgroup", path, "cgroup.subtree_control"), unix.W_OK) == nil
		}
	}
	return false
}
