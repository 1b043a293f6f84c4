//go:build unix

package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a process outlive this one and its terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// wake lets a process go on that was stopped.
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
