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

// helper is a helper that was started, and our ends of its sockets.
type helper struct {
	cmd     *exec.Cmd
	control *os.File
	files   *os.File

	said  chan struct{} // closed when it has said its last word; then the next two are known
	line  string        // its status, or nothing
	reset bool          // it ended before it had read all that was sent
	gone  chan struct{} // closed when nothing is left of its process; then the next is known
	lost  error         // how its process ended
}

// start starts a helper, which makes a ground, in the hope that it will be the
// right one, and waits.
func start(ground launcher.Namespaces) (*helper, error) {
	if !launcher.Declared() {
		return nil, errors.New("this program does not import callgate/internal/sandbox/selfstart")
	}
	leash, theirLeash, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirLeash.Close()
	files, theirFiles, err := socketpair()
	if err != nil {
		leash.Close()
		return nil, err
	}
	defer theirFiles.Close()
	h := &helper{control: leash, files: files, said: make(chan struct{}), gone: make(chan struct{}), cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{launcher.Marker}, Env: []string{"GOGC=off", "GOMAXPROCS=1", "GOTRACEBACK=none"}, Dir: "/",
		ExtraFiles: []*os.File{theirLeash, theirFiles}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := h.cmd.Start(); err != nil {
		leash.Close()
		files.Close()
		return nil, err
	}
	go h.readStatus()
	leash.Write(ground.Encode()) // if the helper is gone, so is its status line
	return h, nil
}

// socketpair makes two sockets that are connected. Ours wakes a goroutine,
// theirs blocks.
func socketpair() (ours, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	unix.SetNonblock(ends[0], true)
	return os.NewFile(uintptr(ends[0]), "socket"), os.NewFile(uintptr(ends[1]), "socket"), nil
}

// readStatus reads the status line and buries the helper.
func (h *helper) readStatus() {
	defer close(h.gone)
	const longest = 4096
	line, err := bufio.NewReaderSize(io.LimitReader(h.control, longest), 128).ReadString('\n')
	h.line, h.reset = strings.TrimSuffix(line, "\n"), errors.Is(err, unix.ECONNRESET)
	close(h.said)
	h.control.Close()
	h.files.Close()
	h.lost = h.cmd.Wait()
}

// over tells whether the helper has said its last word.
func (h *helper) over() bool {
	select {
	case <-h.said:
		return true
	default:
		return false
	}
}

// left tells whether the helper is gone.
func (h *helper) left() bool {
	select {
	case <-h.gone:
		return true
	default:
		return false
	}
}

// run sends the helper its program and waits until that is over. It tells
// whether the helper can have known the whole program: if not, nothing of it
// was run.
func (h *helper) run(ctx context.Context, program []byte, job Job) bool {
	if !h.send(job.Files, slices.Concat(job.Ground.Encode(), program)) {
		h.stop()
		return false
	}
	h.await(ctx, job.Grace)
	return h.line != "" || !h.reset
}

// send sends files, and then what is to be done with them down the leash, and
// tells whether all of it went.
func (h *helper) send(files []*os.File, order []byte) bool {
	if len(files) > 0 && !h.sendFiles(files) {
		return false
	}
	_, err := h.control.Write(order)
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

// lastWait is how long a helper may take to do what it does in milliseconds.
const lastWait = 5 * time.Second

// await waits for the helper's last word. When the context is over the run is
// asked to end, and after the grace let go of, which kills it.
func (h *helper) await(ctx context.Context, grace time.Duration) {
	select {
	case <-h.said:
		return
	case <-ctx.Done():
	}
	h.control.Write([]byte("T"))
	if h.within(grace) {
		return
	}
	h.closeControl()
	if !h.within(lastWait) {
		h.cmd.Process.Kill()
		<-h.said
	}
}

// within tells whether the helper says its last word within a time.
func (h *helper) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-h.said:
		return true
	case <-timer.C:
		return false
	}
}

// closeControl lets go of the leash. What comes up it can still be read.
func (h *helper) closeControl() {
	if raw, err := h.control.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// stop ends a helper that has no program, and returns when it is gone.
func (h *helper) stop() {
	h.closeControl()
	if !h.within(lastWait) {
		h.cmd.Process.Kill()
	}
	<-h.gone
}

// status is the status line of a helper that is over.
func (h *helper) status() (string, error) {
	if h.line == "" {
		<-h.gone
		return "", helperError(h.lost)
	}
	return h.line, nil
}

func helperError(err error) error {
	return &tool.Error{Op: "sandbox.Run", Kind: tool.Unavailable, Message: "the sandbox helper did not finish its work", Err: err,
		Hint: "whether the command ran is not known; look at what it should have changed before trying again"}
}
