//go:build unix

package logfile

import "os"

// follow turns a standard stream to another file.
func follow(stream, to *os.File) error { return dup(int(to.Fd()), int(stream.Fd())) }
