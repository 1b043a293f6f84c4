package process

// Watchdog has nothing to do here: a job object dies with the kernel.
type Watchdog struct{}

func (*Watchdog) mark() string { return "" }
func (*Watchdog) add(int)      {}
func (*Watchdog) remove(int)   {}

// Close ends the watch.
func (*Watchdog) Close() {}
