package kernel_test

import (
	"os"
	"testing"
)

// TestMain lets this program play an MCP server for its own tests, and a kernel
// that is killed.
func TestMain(m *testing.M) {
	if state := os.Getenv(doomedVar); state != "" {
		playDoomed(state)
		return
	}
	if folder := os.Getenv(actorVar); folder != "" {
		playServer(folder)
		return
	}
	os.Exit(m.Run())
}
