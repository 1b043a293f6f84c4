package peer

import (
	"fmt"
	"os"
	"strconv"
)

// Stopped reports whether a process was stopped with a signal, or is held by a
// debugger: it does nothing until it is let go on. Its threads stop one after the
// other, and as long as one of them runs it may still answer.
func Stopped(pid int) bool {
	if pid <= 0 {
		return false
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return false
	}
	stopped := false
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		fields, ok := statAt(fmt.Sprintf("/proc/%d/task/%d/stat", pid, id))
		if !ok || len(fields) == 0 {
			continue // it has ended meanwhile
		}
		switch string(fields[0]) {
		case "T", "t":
			stopped = true
		case "Z", "X": // it has ended
		default:
			return false
		}
	}
	return stopped
}
