package seccomp

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// filter is a seccomp program under construction: a classic BPF program that
// reads every system call and decides what the kernel does with it.
type filter []unix.SockFilter

// The input of the program: struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16 // six arguments of eight bytes, the low half first
)

const (
	allow   = uint32(unix.SECCOMP_RET_ALLOW)
	refuse  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	unknown = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
	noAF    = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EAFNOSUPPORT)
	noEntry = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EACCES)
)

func (f *filter) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *filter) answer(what uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what})
}

// test answers when what was loaded compares so with k, and goes on otherwise.
func (f *filter) test(compare uint16, k, what uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: k, Jf: 1})
	f.answer(what)
}

func arg(n int) uint32 { return uint32(dataArgs + 8*n) }

// newNamespaces are the flags with which clone would leave the sandbox.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// forbidden are system calls that no tool needs, and with which sandboxes were
// broken.
var forbidden = []int{
	// other processes
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	// the view of files
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_QUOTACTL,
	unix.SYS_QUOTACTL_FD, unix.SYS_UNSHARE, unix.SYS_SETNS,
	// the machine
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	// the session's keys
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
}

// absent are system calls that are answered as an old kernel would, so that
// libraries do without them: their arguments lie where a filter cannot look.
var absent = []int{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// Config is what a filter permits.
type Config struct {
	Inet     bool // sockets of the internet families: the network is on, or it is the run's own
	Unix     bool // unix sockets: everything they could reach is the run's own
	Truncate bool // truncate by path: something else keeps it from others' files
}

// verdict decides one system call: a part of the program that always answers.
type verdict struct {
	nr   int
	part filter
}

// compile writes the filter.
func (c Config) compile() filter {
	var f filter
	f.load(dataArch)
	f.unless(auditArch, unknown) // another architecture has other numbers
	f.load(dataNumber)
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000
		f.test(unix.BPF_JGE, x32, unknown)
	}
	list := c.verdicts()
	slices.SortFunc(list, func(a, b verdict) int { return a.nr - b.nr })
	return append(f, search(list)...)
}

func (c Config) verdicts() []verdict {
	var list []verdict
	add := func(nr int, decide func(*filter)) {
		var part filter
		decide(&part)
		list = append(list, verdict{nr, part})
	}
	for _, nr := range slices.Concat(forbidden, forbiddenHere) {
		add(nr, func(f *filter) { f.answer(refuse) })
	}
	for _, nr := range absent {
		add(nr, func(f *filter) { f.answer(unknown) })
	}
	if !c.Truncate {
		add(unix.SYS_TRUNCATE, func(f *filter) { f.answer(refuse) })
	}
	add(unix.SYS_CLONE, func(f *filter) {
		f.load(arg(0))
		f.test(unix.BPF_JSET, newNamespaces, refuse)
		f.answer(allow)
	})
	add(unix.SYS_IOCTL, func(f *filter) {
		f.load(arg(1))
		f.test(unix.BPF_JEQ, unix.TIOCSTI, refuse) // typing into somebody's terminal
		f.test(unix.BPF_JEQ, unix.TIOCLINUX, refuse)
		f.answer(allow)
	})
	add(unix.SYS_SOCKETPAIR, func(f *filter) {
		f.load(arg(0))
		f.test(unix.BPF_JEQ, unix.AF_UNIX, allow)
		f.answer(noAF)
	})
	add(unix.SYS_SOCKET, c.socket)
	return list
}

// search writes a binary search for the verdict. The kernel runs the program once
// for every system call there is, to learn which are always permitted, so a list
// of tests one after the other would cost more than the rest of the sandbox.
func search(sorted []verdict) filter {
	var f filter
	if len(sorted) > 2 {
		middle := len(sorted) / 2
		below := search(sorted[:middle])
		const jump = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		f = append(f, unix.SockFilter{Code: jump, K: uint32(sorted[middle].nr), Jt: uint8(len(below))})
		return append(append(f, below...), search(sorted[middle:])...)
	}
	for _, v := range sorted {
		const jump = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		f = append(f, unix.SockFilter{Code: jump, K: uint32(v.nr), Jf: uint8(len(v.part))})
		f = append(f, v.part...)
	}
	f.answer(allow)
	return f
}

// socket decides about a new socket by its family.
func (c Config) socket(f *filter) {
	f.load(arg(0))
	if c.Unix {
		f.test(unix.BPF_JEQ, unix.AF_UNIX, allow)
	}
	if !c.Inet {
		f.answer(noEntry)
		return
	}
	f.test(unix.BPF_JEQ, unix.AF_INET, allow)
	f.test(unix.BPF_JEQ, unix.AF_INET6, allow)
	f.unless(unix.AF_NETLINK, noAF)
	f.load(arg(2))
	f.test(unix.BPF_JEQ, unix.NETLINK_ROUTE, allow) // which addresses are there
	f.answer(noAF)
}

// unless answers when what was loaded is not k.
func (f *filter) unless(k, what uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: 1})
	f.answer(what)
}

// Supported reports whether there is a filter for this architecture.
const Supported = auditArch != 0

// Code returns the filter as the kernel reads it, and the number of its
// instructions. The caller must not change it.
func Code(c Config) (code []byte, instructions int) {
	code = compiled()[c]
	return code, len(code) / unix.SizeofSockFilter
}

// compiled are all filters, by what they permit.
var compiled = sync.OnceValue(func() map[Config][]byte {
	all := map[Config][]byte{}
	for i := range 8 {
		c := Config{Inet: i&1 != 0, Unix: i&2 != 0, Truncate: i&4 != 0}
		var code []byte
		for _, i := range c.compile() {
			code = binary.LittleEndian.AppendUint16(code, i.Code)
			code = append(code, i.Jt, i.Jf)
			code = binary.LittleEndian.AppendUint32(code, i.K)
		}
		all[c] = code
	}
	return all
})
