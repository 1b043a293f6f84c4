//go:build !race

package sqlite_test

// tampered is how many records the tampering test has.
const tampered = 10_000
