//go:build linux

package prefork

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
)

// NewNamespaces asks for namespaces and maps the users of this one into them, each
// to itself. Root maps all users, because root's command must reach everything in
// root's workspace; anybody else maps only their own. With network the run keeps
// that of this process.
func NewNamespaces(network bool) launcher.Namespaces {
	n := launcher.Namespaces{CloneFlags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC}
	if !network {
		n.CloneFlags |= unix.CLONE_NEWNET
		n.Loopback = true
	}
	if os.Geteuid() == 0 {
		n.UIDMap, n.GIDMap, n.Groups = sameUsers(), sameGroups(), true
	}
	if n.UIDMap == "" || n.GIDMap == "" {
		uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
		n.UIDMap, n.GIDMap, n.Groups = uid+" "+uid+" 1", gid+" "+gid+" 1", false
	}
	return n
}

// The maps of this namespace do not change.
var (
	sameUsers  = sync.OnceValue(func() string { return sameIDs("/proc/self/uid_map") })
	sameGroups = sync.OnceValue(func() string { return sameIDs("/proc/self/gid_map") })
)

// sameIDs writes a map that gives every user of this namespace the same number
// in the next.
func sameIDs(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 {
			lines = append(lines, f[0]+" "+f[0]+" "+f[2])
		}
	}
	return strings.Join(lines, "\n")
}
