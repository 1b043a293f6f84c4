//go:build linux

package launcher

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// How often the limits are checked. A check costs in proportion to the number of
// processes on the machine, so the pause grows with the time that it took. It stays
// short all the same: a check takes long where a run has made many processes, or the
// machine is busy, and there the next one matters most.
const (
	watchEvery  = 100 * time.Millisecond
	watchShare  = 50 // a check takes at most 1/50 of a processor, as long as the pause allows
	watchAtMost = 2 * time.Second
)

// nextPause is how long nothing is checked after a check that took so long.
func nextPause(first, took time.Duration) time.Duration {
	return max(first, min(watchShare*took, watchAtMost))
}

// expect waits until something comes through the control socket, and reports
// whether the child is still there.
func (h *helper) expect() bool {
	const forever = 1<<63 - 1
	fds := []pollFD{{fd: ControlFD, events: pollIn}, {fd: h.watched, events: pollIn}}
	for {
		if _, err := poll(fds, forever); err != syscall.EINTR {
			return fds[1].ready == 0
		}
	}
}

// supervise waits until the child has ended, handles commands from the control
// socket, and checks the limits from time to time. It uses one thread: a second
// would cost more than all of this.
func (h *helper) supervise() {
	fds := []pollFD{{fd: ControlFD, events: pollIn}, {fd: h.watched, events: pollIn}}
	pause := h.firstPause()
	for !h.ended {
		switch n, err := poll(fds, pause); {
		case err == syscall.EINTR:
		case err != nil || fds[1].ready != 0:
			return
		case fds[0].ready != 0:
			if !h.handleCommand() {
				fds[0].fd = -1
			}
		case n == 0:
			start := time.Now()
			h.checkLimits()
			pause = nextPause(h.firstPause(), time.Since(start))
		}
	}
}

// firstPause is how long nothing is checked. A run without limits, which may last
// for days, has only orphans to be reaped, and with an init not even those.
func (h *helper) firstPause() time.Duration {
	const seldom, never = 2 * time.Second, 1<<63 - 1
	switch {
	case h.Memory != 0 || h.Processes != 0:
		return watchEvery
	case h.Init && h.watched >= 0:
		return never
	default:
		return seldom
	}
}

// pollFD is struct pollfd.
type pollFD struct {
	fd            int32
	events, ready int16
}

const pollIn = 1

// poll waits until one of fds is ready, at most for d.
func poll(fds []pollFD, d time.Duration) (int, error) {
	limit := syscall.NsecToTimespec(int64(d))
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// pidFD returns a descriptor that is ready when a process has ended; -1 where the
// kernel does not have it.
func pidFD(pid int) int32 {
	const pidfdOpen = 434
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1
	}
	return int32(fd)
}

// handleCommand handles a command from the control socket, and reports whether
// more may come.
func (h *helper) handleCommand() bool {
	var command [1]byte
	if readFull(ControlFD, command[:]) != nil {
		h.kill()
		return false
	}
	syscall.Kill(-h.pid, syscall.SIGTERM)
	return true
}

// checkLimits reaps orphans of the run, and ends a run whose processes together
// take more than its limits allow, which no limit of a single process can do.
func (h *helper) checkLimits() {
	for reaped := true; reaped; {
		reaped, _ = h.reap(syscall.WNOHANG)
	}
	if h.Memory == 0 && h.Processes == 0 {
		return
	}
	memory, tasks := usage(descendants(os.Getpid()))
	switch {
	case h.Processes > 0 && tasks > h.Processes:
		h.limit = ByProcesses
	case h.Memory > 0 && memory > h.Memory:
		h.limit = ByMemory
	default:
		return
	}
	h.kill()
}

// reap reaps one process that has ended, if there is one, and reports when the
// helper has no children at all.
func (h *helper) reap(options int) (reaped, alone bool) {
	const all = 0x40000000 // __WALL
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, all|options, nil)
	if err != nil {
		return false, err == syscall.ECHILD
	}
	if pid == h.pid {
		h.ended, h.status = true, status
	}
	return pid > 0, false
}

// await reaps the child, and then its orphans, until nothing of the run is alive.
func (h *helper) await() {
	for {
		options := 0
		if h.ended {
			options = syscall.WNOHANG
		}
		reaped, alone := h.reap(options)
		if alone {
			return
		}
		if h.ended && !reaped {
			killDescendants()
			h.reap(0)
		}
	}
}

// usage adds up the private memory of processes, and their threads.
func usage(processes []process) (memory, tasks uint64) {
	page := uint64(os.Getpagesize())
	for _, p := range processes {
		name := "/proc/" + strconv.Itoa(p.pid)
		statm, _ := os.ReadFile(name + "/statm")
		if f := bytes.Fields(statm); len(f) > 2 {
			resident, shared := number(f[1]), number(f[2])
			memory += (resident - min(shared, resident)) * page
		}
		if f := statFields(name + "/stat"); len(f) > statThreads {
			tasks += number(f[statThreads])
		}
	}
	return memory, tasks
}

// Fields of /proc/PID/stat, counted from the one after the name.
const (
	statParent  = 1
	statGroup   = 2
	statThreads = 17
)

// process is one of the run.
type process struct{ pid, group int }

// descendants lists the descendants of a process, in no order. Those that start
// meanwhile may be missing.
func descendants(root int) []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := make(map[int][]process, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if f := statFields("/proc/" + name + "/stat"); len(f) > statGroup {
			parent := int(number(f[statParent]))
			children[parent] = append(children[parent], process{pid, int(number(f[statGroup]))})
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// statFields splits a stat file after the name, which may hold anything.
func statFields(name string) [][]byte {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
}

func number(b []byte) uint64 {
	n, _ := strconv.ParseUint(string(b), 10, 64)
	return n
}

// removeAll removes a folder of the run, whatever modes the run left. It changes
// modes only inside the folder: a link that somebody puts there leads nowhere
// else.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	os.Chmod(dir, 0o700)
	if root, err := os.OpenRoot(dir); err == nil {
		makeRemovable(root, ".")
		root.Close()
	}
	os.RemoveAll(dir)
}

// makeRemovable gives every folder below one a mode in which it can be emptied.
func makeRemovable(root *os.Root, dir string) {
	entries, _ := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if sub := path.Join(dir, e.Name()); e.IsDir() && root.Chmod(sub, 0o700) == nil {
			makeRemovable(root, sub)
		}
	}
}
