//go:build linux

// Package world is a small network of machines on one: each host is a network namespace with an address of its own on
// one bridge, in which real processes run, and whose links can be cut. It needs root.
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Network is a bridge with hosts on it. The process that made it is on the bridge itself.
type Network struct {
	prefix string // of the names of devices and namespaces
	subnet string // "10.77.5"

	outside *Host // the process that made it, by its address alone

	mu    sync.Mutex
	hosts []*Host
	cuts  []cut
}

// Host is one machine.
type Host struct {
	Name, Address string
	space         string // its namespace; "": it has none
}

// cut is a pair of hosts that do not hear each other.
type cut struct{ a, b *Host }

// NewNetwork makes the bridge. Close it.
func NewNetwork() (*Network, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root")
	}
	pid := os.Getpid()
	n := &Network{prefix: "cg" + strconv.Itoa(pid%100000), subnet: fmt.Sprintf("10.%d.%d", 64+pid%64, pid/64%250)}
	n.outside = &Host{Address: n.Outside()}
	for _, step := range [][]string{
		{"link", "add", n.prefix, "type", "bridge"},
		{"addr", "add", n.Outside() + "/24", "dev", n.prefix},
		{"link", "set", n.prefix, "up"},
	} {
		if err := ip(step...); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	return n, nil
}

// Outside is the address of the process that made the network.
func (n *Network) Outside() string { return n.subnet + ".1" }

// Add makes a host.
func (n *Network) Add(name string) (*Host, error) {
	n.mu.Lock()
	number := len(n.hosts) + 1
	h := &Host{
		Name: name, Address: n.subnet + "." + strconv.Itoa(10+number),
		space: n.prefix + "-" + strconv.Itoa(number),
	}
	n.hosts = append(n.hosts, h)
	n.mu.Unlock()
	outer, inner := n.prefix+"o"+strconv.Itoa(number), n.prefix+"i"+strconv.Itoa(number)
	for _, step := range [][]string{
		{"netns", "add", h.space},
		{"link", "add", outer, "type", "veth", "peer", "name", inner},
		{"link", "set", inner, "netns", h.space},
		{"link", "set", outer, "master", n.prefix, "up"},
		{"-n", h.space, "addr", "add", h.Address + "/24", "dev", inner},
		{"-n", h.space, "link", "set", inner, "up"},
		{"-n", h.space, "link", "set", "lo", "up"},
	} {
		if err := ip(step...); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Command is a command that runs on the host.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.space, name}, args...)...)
}

// Cut has two hosts not hear each other until Join.
func (n *Network) Cut(a, b *Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if slices.Contains(n.cuts, cut{a, b}) || slices.Contains(n.cuts, cut{b, a}) {
		return nil
	}
	n.cuts = append(n.cuts, cut{a, b})
	return errors.Join(a.drop("-A", b.Address), b.drop("-A", a.Address))
}

// Alone cuts a host off from every other, and from outside.
func (n *Network) Alone(h *Host) error {
	n.mu.Lock()
	others := slices.Clone(n.hosts)
	n.mu.Unlock()
	var all error
	for _, other := range others {
		if other != h {
			all = errors.Join(all, n.Cut(h, other))
		}
	}
	return errors.Join(all, n.Cut(h, n.outside))
}

// Join undoes the cuts of a host.
func (n *Network) Join(h *Host) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all error
	n.cuts = slices.DeleteFunc(n.cuts, func(c cut) bool {
		if c.a != h && c.b != h {
			return false
		}
		all = errors.Join(all, c.a.drop("-D", c.b.Address), c.b.drop("-D", c.a.Address))
		return true
	})
	return all
}

func (h *Host) drop(action, address string) error {
	if h.space == "" {
		return nil // the other end drops what comes and goes
	}
	return errors.Join(
		run("ip", "netns", "exec", h.space, "iptables", action, "INPUT", "-s", address, "-j", "DROP"),
		run("ip", "netns", "exec", h.space, "iptables", action, "OUTPUT", "-d", address, "-j", "DROP"))
}

// Close removes hosts and bridge. What runs on a host must have ended.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all error
	for _, h := range n.hosts {
		all = errors.Join(all, ip("netns", "del", h.space))
	}
	n.hosts = nil
	return errors.Join(all, ip("link", "del", n.prefix))
}

func ip(args ...string) error { return run("ip", args...) }

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
