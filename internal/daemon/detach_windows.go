package daemon

import (
	"os"
	"os/exec"
	"syscall"
)

// detach lets a process outlive this one and its console.
func detach(cmd *exec.Cmd) {
	const detachedProcess = 0x8
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// wake does nothing: processes are not stopped here.
func wake(*os.Process) error { return nil }
