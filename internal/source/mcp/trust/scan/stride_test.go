//go:build !race

package scan_test

// stride is how many tools of the catalogue apart are scanned: all of them.
const stride = 1
