package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// sweep kills what is left of a run that had no walls: every process that
// still carries its marker, or is in its session (0: none). A process that
// gave up both is not found. One that is just becoming another program shows no
// environment for a moment, so where such a process is, it looks again.
func sweep(marker string, session int) {
	const rounds = 20 // against one that forks while it is being looked for
	for range rounds {
		left, unsure := leftoverPIDs(marker, session)
		found := unsure
		for _, pid := range left {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
		if !found {
			return
		}
		time.Sleep(time.Millisecond) // dying takes a moment
	}
}

// leftoverPIDs lists what is left of a run; unsure says that a process could not
// be told.
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
	room := make([]byte, 32<<10)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid < first {
			continue
		}
		environ := read("/proc/"+name+"/environ", room)
		bare := len(environ) == 0
		if bytes.Contains(environ, wanted) {
			list = append(list, pid)
			continue
		}
		stat := read("/proc/"+name+"/stat", room)
		if session != 0 && inSession(stat, session) {
			list = append(list, pid)
		} else if bare && runsProgram(stat) {
			unsure = true
		}
	}
	return list, unsure
}

// runsProgram tells from its stat file whether a process runs a program, and is
// neither dead nor the system's own.
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

// inSession tells from its stat file whether a process, not yet dead, is in a
// session.
func inSession(stat []byte, session int) bool {
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, sid = 0, 3
	return len(f) > sid && string(f[state]) != "Z" && string(f[sid]) == strconv.Itoa(session)
}

// read reads a small file into room, or as much of it as there is room for;
// a large environment ends with what its process was given last.
func read(name string, room []byte) []byte {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	kept := 0
	for {
		n, err := syscall.Read(fd, room[kept:])
		if n <= 0 || err != nil {
			return room[:kept]
		}
		if kept += n; kept == len(room) {
			kept = copy(room, room[len(room)/2:])
		}
	}
}
