//go:build linux

package launcher

import (
	"encoding/binary"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Marker is the whole argument list of a helper.
const Marker = "callgate: sandbox helper"

// The descriptors that a helper is started with, beside three of the null
// device. Both are sockets.
const (
	ControlFD = 3 // brings the namespaces, the program, T, and the end; takes one line, the status of the run
	FilesFD   = 4 // brings the command's standard files, for the child; takes a listener, if the program sends one
)

// What the first word of a status line can be.
const (
	Ended  = "ended"  // a wait status, and the limit that ended it, or -
	Broken = "broken" // an errno, and what could not be done
)

// Limits that the helper watches over, as the status line names them.
const (
	ByMemory    = "memory"
	ByProcesses = "processes"
)

// declared says that this program calls Main, so that a second start of it
// becomes a helper.
var declared atomic.Bool

// Main makes this process a helper if it was started as one, and then does not
// return. In every other process it returns false at once. A program that calls
// it before anything else declares that it can be its own helper; package
// selfstart is the way to do so.
func Main() bool {
	declared.Store(true)
	if len(os.Args) != 1 || os.Args[0] != Marker {
		return false
	}
	var st syscall.Stat_t
	if syscall.Fstat(ControlFD, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return false
	}
	code := serve()
	for { // there is nothing to run at exit, and some builds do
		syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0, 0, 0, 0)
	}
}

// Declared reports whether this program called Main. One that did not must not
// be started as a helper: it would run as what it is, once more.
func Declared() bool { return declared.Load() }

// helper is one run, seen from outside its sandbox.
type helper struct {
	Namespaces
	*Program
	pid     int   // the child
	watched int32 // a descriptor that is ready when the child has ended
	ended   bool
	status  syscall.WaitStatus
	limit   string // that ended the run, or -
}

func serve() int {
	for _, fd := range []int{ControlFD, FilesFD} {
		syscall.CloseOnExec(fd)
	}
	const closeRange = 436
	syscall.RawSyscall(closeRange, FilesFD+1, ^uintptr(0), 0) // close what this program was started with
	write("/proc/self/oom_score_adj", "500")                  // out of memory, the run is killed before the kernel
	namespaces, err := receiveNamespaces()
	if err != nil {
		return 2 // the kernel has ended
	}
	h := &helper{Namespaces: namespaces, limit: "-"}
	line := h.run()
	if line == "" {
		return 2
	}
	syscall.Write(ControlFD, []byte(line+"\n"))
	return 0
}

// receiveSize reads the number of bytes that come next, and refuses more than
// most.
func receiveSize(most uint64) (uintptr, error) {
	var size [8]byte
	if err := readFull(ControlFD, size[:]); err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > most {
		return 0, errBroken
	}
	return uintptr(n), nil
}

// receive reads the program from the control socket, and not a byte more, into
// the child's memory.
func (c *child) receive() (*Program, error) {
	const most = 64 << 20
	n, err := receiveSize(most)
	if err != nil {
		return nil, err
	}
	data := c.take(n)
	if data == nil {
		return nil, errBroken
	}
	data = data[:n]
	if err := readFull(ControlFD, data); err != nil {
		return nil, err
	}
	program, err := parse(data)
	if err == nil && !c.load(program) {
		err = errBroken
	}
	return program, err
}

func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return errBroken
		default:
			b = b[n:]
		}
	}
	return nil
}

// run makes the run and returns its status line; "" when there was no run.
func (h *helper) run() string {
	c, line := h.fork()
	if line != "" {
		return line
	}
	if !h.expect() {
		h.end()
		return ""
	}
	wanted, err := receiveNamespaces()
	if err == nil && wanted != h.Namespaces {
		h.kill() // the child did nothing yet
		h.Namespaces = wanted
		if c, line = h.fork(); line != "" {
			return line
		}
	}
	if err == nil {
		h.Program, err = c.receive()
	}
	if err != nil {
		h.end()
		return ""
	}
	if h.Remove != "" {
		defer removeAll(h.Remove)
	}
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, -10) // so that many processes, root's at least, cannot starve the helper
	syscall.Write(c.ready[1], []byte{1})
	h.supervise()
	h.await()
	return h.statusLine(c)
}

// fork makes the namespaces, and in them a child, which waits. If it cannot, the
// status line says why.
func (h *helper) fork() (*child, string) {
	if h.CloneFlags&syscall.CLONE_NEWPID == 0 {
		const setChildSubreaper = 36
		syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0)
	}
	memory, err := newSharedMemory()
	if err != nil {
		return nil, broken(err, "find memory for the program")
	}
	c, err := newChild(memory, h.Namespaces)
	if err != nil {
		return nil, broken(err, "make a pipe")
	}
	if h.pid, err = c.forkQuietly(uintptr(h.CloneFlags)); err != nil {
		return nil, broken(err, "make namespaces")
	}
	h.watched = pidFD(h.pid)
	if err := h.mapUsers(); err != nil {
		h.end()
		return nil, broken(err, "map users into the namespace")
	}
	return c, ""
}

// end ends a child that has no program.
func (h *helper) end() {
	h.kill()
	h.await()
}

// statusLine is the status line of a run that has ended.
func (h *helper) statusLine(c *child) string {
	var report [3]uint32
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&report)), unsafe.Sizeof(report))
	reported := readFull(c.report[0], bytes) == nil
	switch {
	case reported && report[0] == reportFailed:
		return broken(syscall.Errno(report[2]), h.stepOf(int(report[1])))
	case reported && report[0] == reportExited:
		h.status = syscall.WaitStatus(report[1])
	}
	return Ended + " " + strconv.Itoa(int(h.status)) + " " + h.limit
}

// stepOf is what a call was for. After the last call comes the start of the
// command.
func (h *helper) stepOf(i int) string {
	if i >= len(h.calls) {
		return "start the command"
	}
	return h.text(h.calls[i].step)
}

func broken(err error, what string) string {
	errno, _ := err.(syscall.Errno)
	return Broken + " " + strconv.Itoa(int(errno)) + " " + what
}

// mapUsers gives the child's user namespace its users. Only a process outside
// the namespace may map more than its own user.
func (h *helper) mapUsers() error {
	if h.UIDMap == "" {
		return nil
	}
	dir := "/proc/" + strconv.Itoa(h.pid) + "/"
	if !h.Groups {
		if err := write(dir+"setgroups", "deny"); err != nil {
			return err
		}
	}
	if err := write(dir+"uid_map", h.UIDMap); err != nil {
		return err
	}
	return write(dir+"gid_map", h.GIDMap)
}

func write(name, text string) error {
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(text))
	return err
}

// kill ends the child, and with an init everything in its namespace; without, everything in its group, at once: who
// forks without end is faster than one that looks for processes, and leaves it no processor to look with.
func (h *helper) kill() {
	if h.ended { // its number may be another's
		return
	}
	if h.CloneFlags&syscall.CLONE_NEWPID == 0 {
		syscall.Kill(-h.pid, syscall.SIGKILL)
	}
	syscall.Kill(h.pid, syscall.SIGKILL)
}

// killDescendants kills what it finds of the run, and with each process its group, those that are just forked included.
func killDescendants() {
	own := syscall.Getpgrp()
	groups := map[int]bool{}
	for _, p := range descendants(os.Getpid()) {
		if p.group != own && p.group > 1 && !groups[p.group] {
			groups[p.group] = true
			syscall.Kill(-p.group, syscall.SIGKILL)
		}
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
