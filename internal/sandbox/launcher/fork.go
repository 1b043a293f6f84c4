//go:build linux

package launcher

import (
	"syscall"
	"unsafe"
)

// child is the process that the helper forks. It waits until it has a program,
// laid out for it: addresses where the program had offsets, and space for
// everything that will be written. The child, its program and its steps all lie
// in memory that the helper shares with it, since the program comes after the
// fork. From its first system call to its last the child neither allocates, nor
// grows its stack, nor calls into the scheduler: the other threads of the
// program do not exist in it.
type child struct {
	steps  []step
	fork   int
	init   bool
	slots  [Slots]uintptr
	ready  [2]int // a pipe: the child begins when a byte comes through
	report [2]int // a pipe: the child's own report
	sent   [3]uint32
	status int32
	byte   [1]byte
	up     bool     // the loopback is to be brought up
	ifreq  [40]byte // the request for that
	memory []byte   // what is left of the shared memory
}

// step is one call with addresses in place.
type step struct {
	nr    uintptr
	args  [6]uintptr
	into  *uint32 // where a put writes
	slots uint8   // which of args are slots
	keep  uint8
	try   bool
}

// What a child reports.
const (
	reportFailed = 1 // a step, and its errno
	reportExited = 2 // the command's wait status
)

// memorySize is more than any program needs that the system would run; unused
// memory costs nothing.
const memorySize = 128 << 20

// newSharedMemory makes memory that a child shares with its parent.
func newSharedMemory() ([]byte, error) {
	const access = syscall.PROT_READ | syscall.PROT_WRITE
	const flags = syscall.MAP_SHARED | syscall.MAP_ANONYMOUS | syscall.MAP_NORESERVE
	return syscall.Mmap(-1, 0, memorySize, access, flags)
}

// newChild makes a child in shared memory.
func newChild(memory []byte, n Namespaces) (*child, error) {
	c := (*child)(unsafe.Pointer(&memory[0]))
	c.memory, c.up = memory, n.Loopback
	copy(c.ifreq[:], "lo")
	c.ifreq[syscall.IFNAMSIZ] = syscall.IFF_UP
	c.take(unsafe.Sizeof(*c))
	for _, fds := range []*[2]int{&c.ready, &c.report} {
		if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// take takes n bytes of the memory, at an address that is a multiple of eight;
// nil when less is left.
func (c *child) take(n uintptr) []byte {
	n = (n + 7) &^ 7
	if n > uintptr(len(c.memory)) {
		return nil
	}
	taken := c.memory[:n:n]
	c.memory = c.memory[n:]
	return taken
}

// load lays a program out. Its arena must lie in the shared memory, or stay
// reachable for as long as the child is used: the steps point into it.
func (c *child) load(p *Program) bool {
	c.init = p.Init
	if len(p.calls) == 0 {
		return true
	}
	steps := c.take(uintptr(len(p.calls)) * unsafe.Sizeof(step{}))
	if steps == nil {
		return false
	}
	c.steps, c.fork = unsafe.Slice((*step)(unsafe.Pointer(&steps[0])), len(p.calls)), p.Fork
	address := func(at uint64) uintptr { return uintptr(unsafe.Pointer(&p.arena[at])) }
	for _, l := range p.links {
		*(*uintptr)(unsafe.Pointer(&p.arena[l.at])) = address(l.to)
	}
	for i := range p.calls {
		from, to := &p.calls[i], &c.steps[i]
		*to = step{nr: uintptr(from.nr), keep: uint8(from.keep), try: from.try == 1}
		for j, a := range from.args {
			switch a.kind {
			case kindData:
				to.args[j] = address(a.value)
				if from.nr == put {
					to.into = (*uint32)(unsafe.Pointer(&p.arena[a.value]))
				}
			case kindSlot:
				to.slots |= 1 << j
				fallthrough
			default:
				to.args[j] = uintptr(a.value)
			}
		}
	}
	return true
}

// start forks. In the child it does not return.
//
//go:norace
//go:noinline
func (c *child) start(flags uintptr) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, flags|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		c.childMain()
	}
	return pid, errno
}

// childMain is all that the child does.
//
//go:norace
//go:nosplit
func (c *child) childMain() {
	syscall.RawSyscall6(syscall.SYS_CLOSE, uintptr(c.ready[1]), 0, 0, 0, 0, 0)
	syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	if c.up {
		fd, _, _ := syscall.RawSyscall6(syscall.SYS_SOCKET, syscall.AF_INET, syscall.SOCK_DGRAM, 0, 0, 0, 0)
		syscall.RawSyscall6(syscall.SYS_IOCTL, fd, syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&c.ifreq)), 0, 0, 0)
		syscall.RawSyscall6(syscall.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	}
	n, _, _ := syscall.RawSyscall6(syscall.SYS_READ, uintptr(c.ready[0]), uintptr(unsafe.Pointer(&c.byte)), 1, 0, 0, 0)
	if n != 1 { // the helper has ended
		exit()
	}
	pid, _, _ := syscall.RawSyscall6(syscall.SYS_GETPID, 0, 0, 0, 0, 0, 0)
	if (pid == 1) != c.init { // in other namespaces the program would do to the machine what is meant for the run
		c.writeStatus(reportFailed, uint32(len(c.steps)), uint32(syscall.EPERM))
		exit()
	}
	c.run(0, c.fork)
	if !c.init {
		c.run(c.fork, len(c.steps))
		exit()
	}
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		c.writeStatus(reportFailed, uint32(len(c.steps)), uint32(errno))
		exit()
	}
	if pid == 0 {
		c.run(c.fork, len(c.steps))
		exit()
	}
	const all = 0x40000000 // __WALL
	for {
		dead, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4,
			^uintptr(0), uintptr(unsafe.Pointer(&c.status)), all, 0, 0, 0)
		if errno != 0 && errno != syscall.EINTR {
			exit()
		}
		if dead == pid && errno == 0 {
			c.writeStatus(reportExited, uint32(c.status), 0)
			exit()
		}
	}
}

// run makes the calls of some steps. One that fails is reported, and the end.
//
//go:norace
//go:nosplit
func (c *child) run(from, to int) {
	for i := from; i < to; i++ {
		s := &c.steps[i]
		for j := range s.args {
			if s.slots&(1<<j) != 0 {
				s.args[j] = c.slots[s.args[j]%Slots]
			}
		}
		if s.nr == put {
			*s.into = uint32(s.args[0])
			continue
		}
		result, _, errno := syscall.RawSyscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
		if errno != 0 && !s.try {
			c.writeStatus(reportFailed, uint32(i), uint32(errno))
			exit()
		}
		if s.keep != 0 {
			c.slots[(s.keep-1)%Slots] = result
		}
	}
}

//go:norace
//go:nosplit
func (c *child) writeStatus(what, a, b uint32) {
	c.sent[0], c.sent[1], c.sent[2] = what, a, b
	syscall.RawSyscall6(syscall.SYS_WRITE, uintptr(c.report[1]),
		uintptr(unsafe.Pointer(&c.sent)), unsafe.Sizeof(c.sent), 0, 0, 0)
}

//go:norace
//go:nosplit
func exit() {
	for {
		syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0)
	}
}

// forkQuietly forks with all signals blocked, so that no handler of this program
// ever runs in the child; the program unblocks them again for the command.
func (c *child) forkQuietly(flags uintptr) (int, error) {
	const setMask, maskSize = 2, 8
	all, old := ^uint64(0), uint64(0)
	mask := func(set, was *uint64) {
		syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask,
			uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), maskSize, 0, 0)
	}
	mask(&all, &old)
	pid, errno := c.start(flags)
	mask(&old, nil)
	if errno != 0 {
		return 0, errno
	}
	syscall.Close(c.report[1])
	syscall.Close(c.ready[0])
	return int(pid), nil
}
