package kernel_test

import (
	"os"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// TestMain plants a secret in the environment, for tests that look for it.
func TestMain(m *testing.M) {
	_ = os.Setenv("LEAK_ENV_KEY", planted["LEAK_ENV_KEY"])
	kerneltest.Main(m, map[string]func(string){retainVariable: playRemoval})
}

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)
