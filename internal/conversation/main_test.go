package conversation_test

import (
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// TestMain lets this program play an MCP server for its own tests, and a kernel
// that is killed.
func TestMain(m *testing.M) {
	kerneltest.Main(m, map[string]func(string){doomedVar: playDoomed})
}

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)
