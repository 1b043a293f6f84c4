//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// tie gives the browser a group of its own. It ends by itself when its pipes
// close, which they do with us.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
