// Package memtrim returns memory to the system that only the start of a process
// needed.
//
// A program pays at its start for everything that is linked into it: each
// package is initialised, which leaves garbage on the heap, and touches code and
// tables of the program's file, which stay mapped. That does not matter in a
// process that goes on to use them. It does in one that stays for days and only
// copies bytes, as the bridge between an MCP client and the kernel.
package memtrim

import "runtime/debug"

// gcPercent is how much a trimmed process may let its heap grow, in percent of
// what it uses, before it collects garbage.
const gcPercent = 25

// Trim collects garbage, returns free memory to the system, and unmaps the pages
// of the program's file. Pages that are used again are mapped again, without
// reading the disk while the system has them in its cache. From then on the heap
// is kept small.
func Trim() error {
	debug.SetGCPercent(gcPercent)
	return Return()
}

// Return collects garbage, returns free memory to the system, and unmaps the pages of the program's file, as Trim does.
// The heap may grow as before.
func Return() error {
	debug.FreeOSMemory()
	return unmapProgram()
}
