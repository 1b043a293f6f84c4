package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// judge runs a filter on one system call, as the kernel would.
func judge(t *testing.T, f filter, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, nr)
	data = binary.LittleEndian.AppendUint32(data, arch)
	data = binary.LittleEndian.AppendUint64(data, 0)
	for i := range 6 {
		v := uint64(0)
		if i < len(args) {
			v = args[i]
		}
		data = binary.LittleEndian.AppendUint64(data, v)
	}
	var a uint32
	for pc := 0; pc < len(f); pc++ {
		i := f[pc]
		jump := func(yes bool) {
			if yes {
				pc += int(i.Jt)
			} else {
				pc += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[i.K:])
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d: code %#x", pc, i.Code)
		}
	}
	t.Fatal("the filter came to no answer")
	return 0
}

func TestFilter(t *testing.T) {
	if !Supported {
		t.Skip("no filter for this architecture")
	}
	for _, o := range []Config{{}, {Inet: true}, {Unix: true}, {Inet: true, Unix: true, Truncate: true}} {
		f := o.compile()
		special := []int{unix.SYS_CLONE, unix.SYS_IOCTL, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_TRUNCATE}
		for nr := range 600 {
			want := allow
			switch {
			case slices.Contains(forbidden, nr), slices.Contains(forbiddenHere, nr):
				want = refuse
			case slices.Contains(absent, nr):
				want = unknown
			case slices.Contains(special, nr):
				continue
			}
			if got := judge(t, f, auditArch, uint32(nr)); got != want {
				t.Errorf("%+v: call %d: %#x, want %#x", o, nr, got, want)
			}
		}
		pick := func(yes bool, no uint32) uint32 {
			if yes {
				return allow
			}
			return no
		}
		ifInet := noEntry
		if o.Inet {
			ifInet = noAF
		}
		for _, c := range []struct {
			name string
			nr   int
			args []uint64
			want uint32
		}{
			{"fork", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, allow},
			{"thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow},
			{"user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, refuse},
			{"mount namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWNS}, refuse},
			{"typing", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, refuse},
			{"typing, with noise above", unix.SYS_IOCTL, []uint64{0, 1<<32 | unix.TIOCSTI}, refuse},
			{"terminal size", unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, allow},
			{"unix pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX}, allow},
			{"other pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC}, noAF},
			{"unix", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, pick(o.Unix, ifInet)},
			{"inet", unix.SYS_SOCKET, []uint64{unix.AF_INET}, pick(o.Inet, noEntry)},
			{"inet6", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, pick(o.Inet, noEntry)},
			{"routes", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 0, unix.NETLINK_ROUTE}, pick(o.Inet, noEntry)},
			{"audit", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, 0, unix.NETLINK_AUDIT}, ifInet},
			{"packet", unix.SYS_SOCKET, []uint64{unix.AF_PACKET}, ifInet},
			{"vsock", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK}, ifInet},
			{"truncate", unix.SYS_TRUNCATE, nil, pick(o.Truncate, refuse)},
		} {
			if got := judge(t, f, auditArch, uint32(c.nr), c.args...); got != c.want {
				t.Errorf("%+v: %s: %#x, want %#x", o, c.name, got, c.want)
			}
		}
		if got := judge(t, f, unix.AUDIT_ARCH_I386, unix.SYS_READ); got != unknown {
			t.Errorf("another architecture: %#x", got)
		}
	}
}

// The code is the program, eight bytes for each instruction.
func TestCode(t *testing.T) {
	if !Supported {
		t.Skip("no filter for this architecture")
	}
	c := Config{Inet: true}
	code, n := Code(c)
	if n != len(c.compile()) || len(code) != 8*n {
		t.Errorf("%d instructions in %d bytes, of %d", n, len(code), len(c.compile()))
	}
}
