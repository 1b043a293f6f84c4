//go:build race

package sqlite_test

// tampered is how many records the tampering test has: fewer than without the
// race detector, which slows SQLite down fiftyfold and has nothing to find in
// a test of one goroutine.
const tampered = 500
