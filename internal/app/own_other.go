//go:build !unix

package app

// isOwn trusts the access lists of the system.
func isOwn(string) bool { return true }
