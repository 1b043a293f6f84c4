package apps_test

import "callgate/internal/kernel/kerneltest"

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)
