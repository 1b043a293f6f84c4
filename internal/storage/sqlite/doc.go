// Package sqlite keeps Callgate's state in one SQLite file: the journal's rows
// and the approvals.
//
// The file is in WAL mode and every commit is synced, so what a call has been
// told is on disk. One connection writes and a few read; readers never wait
// for the writer. One process at a time opens a state directory (the kernel
// holds its lock); SQLite's own locks still guard against a second one.
//
// The schema has a version. Opening a file of an older version migrates it in
// one transaction; a file of a newer version is refused before SQLite is given
// a chance to touch it.
package sqlite
