package servers_test

import (
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// TestMain lets this program play the MCP servers of its own tests.
func TestMain(m *testing.M) {
	kerneltest.Main(m, map[string]func(string){meetingVariable: playMeeting})
}

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)
