// Package nowait writes to a pipe or a connection what that takes at once.
//
// # Law
//
// A write never waits for the other side: what it does not take now is left over, and the caller has another
// goroutine write it. A writer that cannot promise this has no such function.
package nowait

// Write writes as much of data as is taken at once, which may be nothing. An error means that no more will be taken.
type Write func(data []byte) (written int, err error)
