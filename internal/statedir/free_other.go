//go:build !unix || netbsd || openbsd || solaris || illumos

package statedir

// diskFree cannot tell.
func diskFree(string) (free, total int64, ok bool) { return 0, 0, false }
