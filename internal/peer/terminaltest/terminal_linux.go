package terminaltest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leaveTerminal runs this program again in a session of its own, if it has a
// terminal, and ends as that does.
func leaveTerminal() {
	tty, err := os.Open("/dev/tty")
	if err != nil || os.Getenv(partVar) != "" || !strings.HasSuffix(os.Args[0], ".test") {
		return
	}
	_ = tty.Close()
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	_ = cmd.Run()
	os.Exit(cmd.ProcessState.ExitCode())
}

// startTerminal starts this program as a terminal, in a session of its own. The
// caller ends, so that the terminal descends from nobody.
func startTerminal(result *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVar+"=terminal", openerVar+"="+strconv.Itoa(os.Getpid()))
	cmd.ExtraFiles = []*os.File{result}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// awaitOpener returns when this process no longer descends from the one that opened
// the terminal, which may take a moment to end.
func awaitOpener() {
	for strconv.Itoa(os.Getppid()) == os.Getenv(openerVar) {
		time.Sleep(time.Millisecond)
	}
}

// runOnTerminal runs a program on a new pseudo-terminal and types.
func runOnTerminal(p Program) Ended {
	awaitOpener()
	master, slave, err := openPTY()
	if err != nil {
		return Ended{Failed: fmt.Sprintf("%s: %v", noTerminals, err)}
	}
	defer master.Close()
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	var out, errs bytes.Buffer
	cmd.Env = append(os.Environ(), partVar+"=1")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, slave, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = slave.Close()
	if err != nil {
		return Ended{Failed: err.Error()}
	}
	watchdog := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	hands := &hands{master: master, left: p.Types}
	var reading sync.WaitGroup
	reading.Go(hands.watch)
	_ = cmd.Wait()
	reading.Wait() // the terminal ends with its last process
	return Ended{Exit: cmd.ProcessState.ExitCode(), Out: out.String(), Err: errs.String(), Screen: hands.screen.String()}
}

// hands type what a person types when the terminal shows something.
type hands struct {
	master *os.File
	left   []Typing
	screen strings.Builder
	unseen string // what was shown since the last typing
}

func (h *hands) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := h.master.Read(buf)
		h.screen.Write(buf[:n])
		h.unseen += string(buf[:n])
		if err != nil {
			return
		}
		h.answer()
	}
}

func (h *hands) answer() {
	for len(h.left) > 0 {
		next := h.left[0]
		pattern := regexp.MustCompile(next.Sees)
		at := pattern.FindStringSubmatchIndex(h.unseen)
		if at == nil {
			return
		}
		typed := pattern.ExpandString(nil, next.Text, h.unseen, at)
		h.unseen, h.left = h.unseen[at[1]:], h.left[1:]
		if _, err := h.master.Write(typed); err != nil {
			return
		}
	}
}

// Pair is a terminal of a test's own: what is typed is written to keys, and a program that
// reads it has screen.
func Pair(t testing.TB) (keys, screen *os.File) {
	t.Helper()
	keys, screen, err := openPTY()
	if err != nil {
		t.Skipf("there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _, _ = keys.Close(), screen.Close() })
	return keys, screen
}

func openPTY() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
		var number int
		if number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN); err == nil {
			slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		}
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
