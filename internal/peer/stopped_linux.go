package peer

// Stopped reports whether a process was stopped with a signal, or is held by a
// debugger: it does nothing until it is let go on.
func Stopped(pid int) bool {
	fields, ok := stat(pid)
	return ok && pid > 0 && len(fields) > 0 && (string(fields[0]) == "T" || string(fields[0]) == "t")
}
