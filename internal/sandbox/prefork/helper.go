//go:build linux

package prefork

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/tool"
)

// helper is a helper process, and our ends of its sockets.
type helper struct {
	cmd     *exec.Cmd
	control *os.File
	files   *os.File

	done  chan struct{} // closed when the run has ended; then the next two are known
	line  string        // the status line; "" if there was none
	reset bool          // it ended before it had read all that was sent
	gone  chan struct{} // closed when its process was reaped; then the next is known
	lost  error         // how its process ended
}

// start starts a helper, which creates the expected namespaces ahead of time and
// waits.
func start(expected launcher.Namespaces) (*helper, error) {
	if !launcher.Declared() {
		return nil, errors.New("this program does not import callgate/internal/sandbox/selfstart")
	}
	control, theirControl, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirControl.Close()
	files, theirFiles, err := socketpair()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer theirFiles.Close()
	h := &helper{control: control, files: files, done: make(chan struct{}), gone: make(chan struct{}), cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{launcher.Marker}, Dir: "/",
		Env:        []string{"GOGC=off", "GOMAXPROCS=1", "GOTRACEBACK=none"},
		ExtraFiles: []*os.File{theirControl, theirFiles}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := h.cmd.Start(); err != nil {
		control.Close()
		files.Close()
		return nil, err
	}
	go h.readStatus()
	control.Write(expected.Encode()) // if the helper has ended, it writes no status line
	return h, nil
}

// socketpair makes two connected sockets. Ours wakes a goroutine, theirs blocks.
func socketpair() (ours, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	unix.SetNonblock(ends[0], true)
	return os.NewFile(uintptr(ends[0]), "socket"), os.NewFile(uintptr(ends[1]), "socket"), nil
}

// readStatus reads the status line and reaps the helper.
func (h *helper) readStatus() {
	defer close(h.gone)
	const longest = 4096
	line, err := bufio.NewReaderSize(io.LimitReader(h.control, longest), 128).ReadString('\n')
	h.line, h.reset = strings.TrimSuffix(line, "\n"), errors.Is(err, unix.ECONNRESET)
	close(h.done)
	h.control.Close()
	h.files.Close()
	h.lost = h.cmd.Wait()
}

// hasEnded reports whether the helper has written its status line, or never will.
func (h *helper) hasEnded() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// isGone reports whether the helper's process was reaped.
func (h *helper) isGone() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// run sends the helper its program and waits until the run has ended. It reports
// whether the helper can have read the whole program: if not, nothing of it was
// run.
func (h *helper) run(ctx context.Context, program []byte, job Job) bool {
	if !h.send(job.Files, slices.Concat(job.Namespaces.Encode(), program)) {
		h.stop()
		return false
	}
	if job.Sent != nil {
		job.Sent(h.cmd.Process.Pid)
	}
	if job.Listener != nil {
		defer h.receiveListener(job.Listener)()
	}
	h.await(ctx, job.Grace)
	return h.line != "" || !h.reset
}

// send sends the files, and then the program through the control socket, and
// reports whether all of it was sent.
func (h *helper) send(files []*os.File, program []byte) bool {
	if len(files) > 0 && !h.sendFiles(files) {
		return false
	}
	_, err := h.control.Write(program)
	return err == nil
}

func (h *helper) sendFiles(files []*os.File) bool {
	numbers := make([]int, len(files))
	for i, f := range files {
		numbers[i] = int(f.Fd())
	}
	defer runtime.KeepAlive(files)
	raw, err := h.files.SyscallConn()
	if err != nil {
		return false
	}
	var sent error
	err = raw.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), []byte{0}, unix.UnixRights(numbers...), nil, unix.MSG_NOSIGNAL)
		return sent != unix.EAGAIN && sent != unix.EINTR
	})
	return err == nil && sent == nil
}

// lastWait bounds what a helper usually does in milliseconds.
const lastWait = 5 * time.Second

// killWait bounds how long a helper kills a run. A helper that is killed itself leaves alive what it has not killed, so
// it is given time also where a run has left it next to no processor.
const killWait = time.Minute

// await waits until the run has ended. When the context ends, the run is asked to
// end, and after the grace the control socket is closed, which kills it.
func (h *helper) await(ctx context.Context, grace time.Duration) {
	select {
	case <-h.done:
		return
	case <-ctx.Done():
	}
	h.control.Write([]byte("T"))
	if h.within(grace) {
		return
	}
	h.closeControl()
	if !h.within(killWait) {
		h.cmd.Process.Kill()
		<-h.done
	}
}

// within reports whether the run ends within a time.
func (h *helper) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.done:
		return true
	case <-timer.C:
		return false
	}
}

// closeControl closes our end for writing. The status line can still be read.
func (h *helper) closeControl() {
	if raw, err := h.control.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// stop ends a helper that has no program, and returns when it was reaped.
func (h *helper) stop() {
	h.closeControl()
	if !h.within(lastWait) {
		h.cmd.Process.Kill()
	}
	<-h.gone
}

// status returns the status line of a helper whose run has ended.
func (h *helper) status() (string, error) {
	if h.line == "" {
		<-h.gone
		return "", helperError(h.lost)
	}
	return h.line, nil
}

func helperError(err error) error {
	return &tool.Error{
		Op: "sandbox.Run", Kind: tool.Unavailable, Message: "the sandbox helper did not finish its work", Err: err,
		Hint: "whether the command ran is not known; look at what it should have changed before trying again",
	}
}
