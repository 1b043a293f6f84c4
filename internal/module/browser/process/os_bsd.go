//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// setProcessGroup gives the browser a group of its own. It ends by itself when its pipes
// close, which they do with us.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
