package llmtools_test

import (
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

// kernelSession is a session, and the kernel that it is of.
type kernelSession struct {
	Kernel *kernel.Kernel
	*session.Session
}
