package sandbox

import "time"

// Limits bounds what a run takes. A zero field means its default, a negative one
// no limit.
type Limits struct {
	// Memory is what all processes of the run may hold together, in bytes; it is
	// checked ten times a second. Default: half of the machine's. When it is given,
	// no single process may map more data than that either, which is exact, but too
	// little for a race detector or an address sanitizer.
	Memory    int64
	Processes int           // and threads, at one time; default 1024
	CPU       time.Duration // of each process; default none
	FileSize  int64         // of each file it writes; default 16 GiB
	OpenFiles int           // of each process; default 8192
	Temp      int64         // of the private temporary folder, where it is in memory; default a quarter of the machine's

	mapped bool // Memory was given
}

func (l Limits) withDefaults() Limits {
	l.mapped = l.Memory > 0
	memory := machineMemory()
	pick(&l.Memory, memory/2)
	pick(&l.Processes, 1024)
	pick(&l.FileSize, 16<<30)
	pick(&l.OpenFiles, 8192)
	pick(&l.Temp, memory/4)
	return l
}

func pick[T int | int64](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}
