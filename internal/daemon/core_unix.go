//go:build unix

package daemon

import "golang.org/x/sys/unix"

// withoutCore keeps this process, which holds secrets, from being written to a file when it dies. The limit is one
// byte and not none: Linux hands a core to the program that its core_pattern names whatever the limit is, but for
// that one.
func withoutCore() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}) // a lower limit than ours stays
}
