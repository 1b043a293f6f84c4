package memtrim

import (
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"
)

// unknownLimit is the limit where the memory of the machine cannot be asked for.
const unknownLimit = 4 << 30

// usual is the process's memory limit while no large message is worked on; 0: none was set.
var usual atomic.Int64

// usualLimit returns the memory limit outside of work on large messages.
func usualLimit() int64 {
	if n := usual.Load(); n > 0 {
		return n
	}
	return math.MaxInt64
}

// LimitProcess sets a memory limit for a process that serves: three quarters of the memory
// that the machine has or that the control group of the process may use. Near the limit
// the garbage collector runs more often, before the system ends the process. It does
// nothing if GOMEMLIMIT is set. It returns the limit.
func LimitProcess() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return debug.SetMemoryLimit(-1)
	}
	limit := int64(unknownLimit)
	if have := available(); have > 0 {
		limit = have / 4 * 3
	}
	if usual.CompareAndSwap(0, limit) && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}
