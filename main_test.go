package callgate_test

import (
	"os"
	"testing"
)

// TestMain lets this program play an MCP server for its own tests.
func TestMain(m *testing.M) {
	if folder := os.Getenv(actorVar); folder != "" {
		playServer(folder)
		return
	}
	os.Exit(m.Run())
}
