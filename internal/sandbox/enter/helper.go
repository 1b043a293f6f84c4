//go:build linux

package enter

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// Marker is the whole argument list of a helper.
const Marker = "callgate: sandbox helper"

// The descriptors that a helper is started with, beside the three of the
// command itself.
const (
	LeashFD  = 3 // the program, then T, then the end
	StatusFD = 4 // one line: what became of the run
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

// In the helper this never comes to an end; in every other process it is over
// at once.
var _ = branch()

func branch() bool {
	if len(os.Args) != 1 || os.Args[0] != Marker {
		return false
	}
	var st syscall.Stat_t
	if syscall.Fstat(LeashFD, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return false
	}
	code := serve()
	for { // there is nothing to run at exit, and some builds do
		syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, uintptr(code), 0, 0, 0, 0, 0)
	}
}

// helper is one run seen from outside its walls.
type helper struct {
	*Program
	pid    int // the child
	ended  bool
	status syscall.WaitStatus
	limit  string // that ended the run, or -
}

func serve() int {
	for _, fd := range []int{LeashFD, StatusFD} {
		syscall.CloseOnExec(fd)
		syscall.SetNonblock(fd, false)
	}
	program, err := receive()
	if err != nil {
		return 2 // whoever should have sent it is gone
	}
	h := &helper{Program: program, limit: "-"}
	line := h.run()
	syscall.Write(StatusFD, []byte(line+"\n"))
	return 0
}

// receive reads the program from the leash, and not a byte more.
func receive() (*Program, error) {
	var size [8]byte
	if err := readFull(LeashFD, size[:]); err != nil {
		return nil, err
	}
	const most = 64 << 20
	n := binary.LittleEndian.Uint64(size[:])
	if n > most {
		return nil, errBroken
	}
	data := make([]byte, n)
	if err := readFull(LeashFD, data); err != nil {
		return nil, err
	}
	return parse(data)
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

// run makes the run and returns its status line.
func (h *helper) run() string {
	if !h.Init {
		const setChildSubreaper = 36
		syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0)
	}
	if h.Remove != "" {
		defer removeAll(h.Remove)
	}
	write("/proc/self/oom_score_adj", "500") // when memory runs out, rather a run than the kernel
	c, err := newChild(h.Program)
	if err != nil {
		return broken(err, "make a pipe")
	}
	if h.pid, err = c.forkQuietly(uintptr(h.CloneFlags)); err != nil {
		return broken(err, "make namespaces")
	}
	if err := h.mapUsers(); err != nil {
		h.kill()
		h.await()
		return broken(err, "map users into the namespace")
	}
	h.letGoOfStandardFiles()
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, -10) // so that a flood of processes, root's at least, cannot keep it from its watch
	syscall.Write(c.gate[1], []byte{1})
	h.supervise()
	h.await()
	var said [3]uint32
	told := readFull(c.report[0], unsafe.Slice((*byte)(unsafe.Pointer(&said)), unsafe.Sizeof(said))) == nil
	switch {
	case told && said[0] == saidFailed:
		return broken(syscall.Errno(said[2]), h.stepOf(int(said[1])))
	case told && said[0] == saidExited:
		h.status = syscall.WaitStatus(said[1])
	}
	return Ended + " " + strconv.Itoa(int(h.status)) + " " + h.limit
}

// stepOf is what a call was for; after the last one comes the second fork.
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
// it may map more than its own.
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

// letGoOfStandardFiles leaves the command's files to the command, so that its
// readers and writers see it close them.
func (h *helper) letGoOfStandardFiles() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		syscall.Dup3(null, fd, 0)
	}
	syscall.Close(null)
}

// kill ends the child, and with an init everything in its namespace.
func (h *helper) kill() { syscall.Kill(h.pid, syscall.SIGKILL) }
