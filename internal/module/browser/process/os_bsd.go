//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// setProcessGroup gives the browser a group of its own. It exits when its pipes close,
// which they do when this process ends.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
