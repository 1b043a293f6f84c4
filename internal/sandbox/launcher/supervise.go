//go:build linux

package launcher

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// How often the run is looked at. Looking costs in proportion to the number
// of processes on the machine, so the pause grows with what a look took.
const (
	watchEvery = 100 * time.Millisecond
	watchShare = 50 // at most one part in so many of a processor
)

// expect waits until something comes down the leash, and tells whether the
// child is still there to have it.
func (h *helper) expect() bool {
	const forever = 1<<63 - 1
	fds := []pollFD{{fd: ControlFD, events: pollIn}, {fd: h.watched, events: pollIn}}
	for {
		if _, err := poll(fds, forever); err != syscall.EINTR {
			return fds[1].ready == 0
		}
	}
}

// supervise waits until the child has ended, does what comes down the leash,
// and looks at the run from time to time. It does so in this one thread: a
// second would cost more than all of it.
func (h *helper) supervise() {
	fds := []pollFD{{fd: ControlFD, events: pollIn}, {fd: h.watched, events: pollIn}}
	pause := watchEvery
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
			pause = max(watchEvery, watchShare*time.Since(start))
		}
	}
}

// pollFD is struct pollfd.
type pollFD struct {
	fd            int32
	events, ready int16
}

const pollIn = 1

// poll waits until one of fds is ready, or for so long.
func poll(fds []pollFD, d time.Duration) (int, error) {
	limit := syscall.NsecToTimespec(int64(d))
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// pidFD is a descriptor that is ready when a process has ended; less than zero
// when the kernel has no such thing.
func pidFD(pid int) int32 {
	const pidfdOpen = 434
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return -1
	}
	return int32(fd)
}

// handleCommand does what comes down the leash, and tells whether more may come.
func (h *helper) handleCommand() bool {
	var order [1]byte
	if readFull(ControlFD, order[:]) != nil {
		h.kill()
		return false
	}
	syscall.Kill(-h.pid, syscall.SIGTERM)
	return true
}

// checkLimits reaps whoever was left to the helper, and ends a run whose processes
// together take more than its limits allow: what no limit of a single process
// can hold.
func (h *helper) checkLimits() {
	for gone := true; gone; {
		gone, _ = h.reap(syscall.WNOHANG)
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

// reap takes note of one process that has ended, if there is one, and tells
// when there are none at all.
func (h *helper) reap(options int) (gone, alone bool) {
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

// await reaps the child, and after it whoever it left to the helper, until
// nothing of the run is alive.
func (h *helper) await() {
	for {
		options := 0
		if h.ended {
			options = syscall.WNOHANG
		}
		gone, alone := h.reap(options)
		if alone {
			return
		}
		if h.ended && !gone {
			for _, pid := range descendants(os.Getpid()) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			h.reap(0)
		}
	}
}

// usage adds up the memory that processes have to themselves, and their
// threads.
func usage(pids []int) (memory, tasks uint64) {
	page := uint64(os.Getpagesize())
	for _, pid := range pids {
		name := "/proc/" + strconv.Itoa(pid)
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
	statThreads = 17
)

// descendants lists the processes below one, in no order. Those that start
// meanwhile may be missing.
func descendants(root int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := make(map[int][]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if f := statFields("/proc/" + name + "/stat"); len(f) > statParent {
			parent := int(number(f[statParent]))
			children[parent] = append(children[parent], pid)
		}
	}
	found := children[root]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
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

// removeAll removes a folder of the run, whatever modes it was left with.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	open(dir)
	os.RemoveAll(dir)
}

// open makes every folder under dir one that can be emptied.
func open(dir string) {
	os.Chmod(dir, 0o700)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			open(dir + "/" + e.Name())
		}
	}
}
