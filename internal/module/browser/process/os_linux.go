package process

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// setProcessGroup gives the browser a group of its own, and has the system kill it when
// this process dies.
func setProcessGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killByFolder kills every process of a browser's folder: a child may have been starting
// when the browser died. It looks until it has found none twice.
func killByFolder(dir string) {
	for quiet, looks := 0, 0; quiet < 2 && looks < 100; looks++ {
		if killUsers(dir) == 0 {
			quiet++
			continue
		}
		quiet = 0
		time.Sleep(5 * time.Millisecond)
	}
}

func killUsers(dir string) (found int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	want := []byte("--user-data-dir=" + dir)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && mentions(line, want) {
			found++
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}

// mentions reports whether a command line has an argument. A child of Chromium's zygote
// shows all its arguments as one, separated by spaces.
func mentions(line, want []byte) bool {
	i := bytes.Index(line, want)
	if i < 0 {
		return false
	}
	rest := line[i+len(want):]
	return len(rest) == 0 || rest[0] == 0 || rest[0] == ' '
}
