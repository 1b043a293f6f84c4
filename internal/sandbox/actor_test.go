//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox"
)

// parts are what this program does when it is the one inside.
var parts = map[string]func([]string) error{
	"read": func(a []string) error {
		data, err := os.ReadFile(a[0])
		os.Stdout.Write(data)
		return err
	},
	"list": func(a []string) error {
		entries, err := os.ReadDir(a[0])
		for _, e := range entries {
			fmt.Println(e.Name())
		}
		return err
	},
	"write":    func(a []string) error { return os.WriteFile(a[0], []byte("written"), 0o644) },
	"append":   appendTo,
	"truncate": func(a []string) error { return os.Truncate(a[0], 0) },
	"remove":   func(a []string) error { return os.Remove(a[0]) },
	"rename":   func(a []string) error { return os.Rename(a[0], a[1]) },
	"link":     func(a []string) error { return os.Link(a[0], a[1]) },
	"chmod":    func(a []string) error { return os.Chmod(a[0], 0o777) },
	"mkdir":    func(a []string) error { return os.Mkdir(a[0], 0o755) },
	"dial":     dial,
	"loopback": loopback,
	"hoard":    hoard,
	"syscall":  forbiddenCall,
	"runner":   runner,
	"idle":     idle,
}

func appendTo(a []string) error {
	f, err := os.OpenFile(a[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("more")
	return errors.Join(err, f.Close())
}

// dial connects and sends a word.
func dial(a []string) error {
	c, err := net.DialTimeout(a[0], a[1], 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.WriteString(c, "hello")
	return err
}

// loopback talks to a server of its own.
func loopback(a []string) error {
	l, err := net.Listen(a[0], a[1])
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.WriteString(c, "hello from inside")
			c.Close()
		}
	}()
	c, err := net.Dial(a[0], l.Addr().String())
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// hoard opens files until it may not.
func hoard([]string) error {
	var held []*os.File
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			fmt.Println(len(held))
			return err
		}
		held = append(held, f)
	}
}

// forbiddenCall makes one system call that would be a way out.
func forbiddenCall(a []string) error {
	try := func(nr int, args ...uintptr) error {
		args = append(args, 0, 0, 0, 0, 0, 0)
		_, _, errno := unix.Syscall6(uintptr(nr), args[0], args[1], args[2], args[3], args[4], args[5])
		if errno != 0 {
			return errno
		}
		return nil
	}
	word := uintptr(unsafe.Pointer(unsafe.StringData("/tmp\x00")))
	buf := make([]byte, 256)
	room := uintptr(unsafe.Pointer(&buf[0]))
	switch a[0] {
	case "ptrace":
		return try(unix.SYS_PTRACE, unix.PTRACE_TRACEME)
	case "mount":
		return try(unix.SYS_MOUNT, word, word, 0, unix.MS_BIND)
	case "umount":
		return unix.Unmount("/tmp", unix.MNT_DETACH)
	case "bpf":
		return try(unix.SYS_BPF, 0, room, 64)
	case "keyctl":
		return try(unix.SYS_KEYCTL, 0, ^uintptr(2), 0)
	case "unshare user":
		return try(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	case "unshare mount":
		return try(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	case "clone user":
		pid, err := syscall.ForkExec(
			"/bin/true",
			[]string{"true"},
			&syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}},
		)
		if err == nil {
			syscall.Wait4(pid, nil, 0, nil)
		}
		return err
	case "clone3":
		return try(unix.SYS_CLONE3, 0, 0)
	case "perf":
		return try(unix.SYS_PERF_EVENT_OPEN, room, 0, ^uintptr(0), ^uintptr(0), 0)
	case "userfaultfd":
		return try(unix.SYS_USERFAULTFD, 1)
	case "io_uring":
		return try(unix.SYS_IO_URING_SETUP, 1, room)
	case "process_vm_readv":
		return try(unix.SYS_PROCESS_VM_READV, uintptr(os.Getppid()), 0, 0, 0, 0, 0)
	case "open_by_handle_at":
		return try(unix.SYS_OPEN_BY_HANDLE_AT, 3, room, 0)
	case "tiocsti":
		return try(unix.SYS_IOCTL, 0, unix.TIOCSTI, word)
	case "packet socket":
		return try(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0)
	case "vsock":
		return try(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	case "audit netlink":
		return try(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)
	}
	return nil
}

// runner runs a sleeping command at a level, and is itself to be killed.
func runner(a []string) error {
	machine := sandbox.Probe()
	machine.Namespaces = machine.Namespaces && a[2] == "full"
	_, err := sandbox.RunOn(context.Background(), sandbox.Spec{
		Argv: sh(
			"echo up; setsid sleep " + a[0] + " & exec sleep " + a[0],
		), Env: os.Environ(), Workspace: a[1], Stdout: os.Stdout, Unconfined: a[2] == "process",
	}, machine)
	return err
}

// idle makes a run, says so, and lives until its input ends.
func idle(a []string) error {
	_, err := sandbox.Run(context.Background(), sandbox.Spec{
		Argv: []string{"true"}, Env: os.Environ(), Workspace: a[0], Helpers: sandbox.NewHelpers(),
	})
	if err != nil {
		return err
	}
	os.Stdout.WriteString("up\n")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
