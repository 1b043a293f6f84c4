//go:build linux

// Command otheruser is the part of scripts/users.sh that a shell cannot do.
//
//	otheruser contain USER COMMAND…   runs a command as a user where user namespaces are forbidden
//	otheruser prowl USER SENTINEL     is a hostile user: tries, until it is ended, what another user can try
//	otheruser pose SOCKET             is a hostile user: serves a kernel's socket, and says what it is sent
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "otheruser:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) > 2 && args[0] == "contain":
		return contain(args[1:])
	case len(args) > 2 && args[0] == "contained": // in the namespace
		return enter(args[1], args[2:])
	case len(args) == 3 && args[0] == "prowl":
		return prowl(args[1], args[2])
	case len(args) == 2 && args[0] == "pose":
		return pose(args[1])
	}
	return fmt.Errorf("usage: otheruser contain USER COMMAND… | prowl USER SENTINEL | pose SOCKET")
}

// contain starts this program again in a user namespace in which everybody is who
// they were, so that a limit on further ones can be set there.
func contain(args []string) error {
	everybody := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}}
	cmd := exec.Command("/proc/self/exe", append([]string{"contained"}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: everybody, GidMappings: everybody,
		GidMappingsEnableSetgroups: true, Pdeathsig: syscall.SIGKILL,
	}
	return cmd.Run()
}

// enter forbids further user namespaces, gives up all rights, and becomes the
// command. Whoever is not root has no capability after that.
func enter(name string, command []string) error {
	const limit = "/proc/sys/user/max_user_namespaces"
	if err := os.WriteFile(limit, []byte("0"), 0); err != nil {
		return err
	}
	uid, gid, err := lookup(name)
	if err != nil {
		return err
	}
	for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(gid), syscall.Setuid(uid)} {
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, command, os.Environ())
}

func lookup(name string) (uid, gid int, err error) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	if uid, err = strconv.Atoi(u.Uid); err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(u.Gid)
	return uid, gid, err
}
