//go:build race

package scan_test

// stride is larger here, since the race detector makes a scan ten times as
// slow and there is no concurrency in it to watch.
const stride = 10
