package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// sweep kills what is left of an unconfined run, and returns when it is dead:
// every process that still has its marker, or is in its session (0: none). A
// process that gave up both is not found. A process that is just becoming another
// program shows no environment for a moment, so sweep looks again where there is
// such a process, but not for long: it may be a stranger.
func sweep(marker string, session int) {
	const rounds = 20               // while a process is unknown
	const longest = 5 * time.Second // while a process of the run is alive, or forks
	deadline := time.Now().Add(longest)
	for round := 0; time.Now().Before(deadline); round++ {
		left, unsure := leftoverPIDs(marker, session)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be dead by now
		}
		if len(left) == 0 && (!unsure || round >= rounds) {
			return
		}
		time.Sleep(time.Millisecond) // a killed process takes a moment to die
	}
}

// leftoverPIDs lists the processes that are left of a run; unsure says that there
// is a process of which that is not known.
func leftoverPIDs(marker string, session int) (list []int, unsure bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	wanted := []byte(markerName + "=" + marker)
	first := session // process numbers grow, unless they began again
	if lastPID() < session {
		first = 0
	}
	buffer := make([]byte, 32<<10)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid < first {
			continue
		}
		environ := read("/proc/"+name+"/environ", buffer)
		bare := len(environ) == 0
		if bytes.Contains(environ, wanted) {
			list = append(list, pid)
			continue
		}
		stat := read("/proc/"+name+"/stat", buffer)
		if session != 0 && inSession(stat, session) {
			list = append(list, pid)
		} else if bare && runsProgram(stat) {
			unsure = true
		}
	}
	return list, unsure
}

// runsProgram reports from its stat file whether a process runs a program, and is
// neither dead nor a kernel thread.
func runsProgram(stat []byte) bool {
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, flags, kernelThread = 0, 6, 0x00200000
	if len(f) <= flags || string(f[state]) == "Z" || string(f[state]) == "X" {
		return false
	}
	n, err := strconv.ParseUint(string(f[flags]), 10, 64)
	return err == nil && n&kernelThread == 0
}

// lastPID is the number of the newest process.
func lastPID() int {
	f := bytes.Fields(read("/proc/loadavg", make([]byte, 128)))
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(string(f[len(f)-1]))
	return n
}

// inSession reports from its stat file whether a process is alive and in a
// session.
func inSession(stat []byte, session int) bool {
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, sid = 0, 3
	return len(f) > sid && string(f[state]) != "Z" && string(f[sid]) == strconv.Itoa(session)
}

// read reads a file into a buffer. Of a larger file it keeps the end: the marker
// of a run is the last setting of its environment.
func read(name string, buffer []byte) []byte {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	kept := 0
	for {
		n, err := syscall.Read(fd, buffer[kept:])
		if n <= 0 || err != nil {
			return buffer[:kept]
		}
		if kept += n; kept == len(buffer) {
			kept = copy(buffer, buffer[len(buffer)/2:])
		}
	}
}
