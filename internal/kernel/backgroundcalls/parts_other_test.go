//go:build !linux

package backgroundcalls_test

// parts are what this program plays beside its tests.
var parts map[string]func(string)
