// Package seccomp compiles the filter of system calls that a confined command
// runs under.
//
// # Law
//
// A filter refuses what could undo the sandbox or reach out of it: other
// processes' memory, mounts, namespaces, the machine's own settings, keys, and
// sockets of families that are not allowed. Everything else is permitted: the
// filter is the second line of defence, behind namespaces and Landlock. A call
// whose arguments a filter cannot read is answered as an old kernel would, so
// that libraries do without it. A call of another architecture is refused.
package seccomp
