//go:build linux

package launcher

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestKillEndsTheGroup kills a run without a PID namespace. One of its processes is in the group of
// the run, but not a descendant: its parent has ended.
func TestKillEndsTheGroup(t *testing.T) {
	for name, kill := range map[string]func(run int){
		"child":       func(run int) { (&helper{pid: run}).kill() },
		"descendants": func(int) { killDescendants() },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", "(sleep 100 &); echo begun; exec sleep 100")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if line, err := lines.ReadString('\n'); line != "begun\n" {
				t.Errorf("the run printed %q: %v", line, err)
			}
			kill(cmd.Process.Pid)
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, lines) // both processes hold the pipe open
				ended <- err
			}()
			select {
			case err = <-ended:
			case <-time.After(10 * time.Second):
				t.Error("a process of the run is alive")
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				err = <-ended
			}
			if err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // it was killed
		})
	}
}
