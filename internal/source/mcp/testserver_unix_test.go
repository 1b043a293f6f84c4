//go:build unix

package mcp_test

import (
	"os/exec"
	"syscall"
)

func leave(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
