//go:build linux

package prefork

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// receiveListener takes the listening socket that the program sends, and gives it
// away. What it returns waits until that is done, or will never be: the run must
// have ended.
func (h *helper) receiveListener(give func(net.Listener)) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if l, err := listenerFrom(h.files); err == nil { // if not, the program has failed, and says so itself
			give(l)
		}
	}()
	return func() {
		h.files.Close()
		<-done
	}
}

// listenerFrom reads one socket from another.
func listenerFrom(socket *os.File) (net.Listener, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	const descriptor = 4
	control, size, received := make([]byte, unix.CmsgSpace(descriptor)), 0, error(nil)
	err = raw.Read(func(fd uintptr) bool {
		_, size, _, _, received = unix.Recvmsg(int(fd), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
		return received != unix.EAGAIN && received != unix.EINTR
	})
	if err = errors.Join(err, received); err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:size])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("no socket came"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(err, errors.New("no socket came"))
	}
	f := os.NewFile(uintptr(fds[0]), "listener")
	defer f.Close()
	return net.FileListener(f)
}
