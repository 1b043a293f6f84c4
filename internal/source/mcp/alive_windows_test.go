package mcp_test

import (
	"os"
	"time"
)

func alive(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}

func cpu() time.Duration { return 0 }
