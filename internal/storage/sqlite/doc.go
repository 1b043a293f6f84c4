// Package sqlite is the storage driver on SQLite: one file for everything, and a
// folder named artifacts beside it for large payloads.
//
// The file is in WAL mode and every commit is synced, so what a caller was
// promised is on disk. One connection writes and a few read; readers never wait
// for the writer. One process at a time opens a state directory (the kernel
// holds its lock); SQLite's own locks still guard against a second one.
//
// What is deleted is overwritten in the file. A deleted document is also removed
// from the log before the write returns, or soon after if somebody reads the log.
//
// The schema has a version. Opening a file of an older version migrates it in
// one transaction; a file of a newer version is refused before SQLite can touch
// it.
package sqlite
