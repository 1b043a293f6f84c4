//go:build linux || darwin

package dialog

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// hide makes a terminal give whole lines, and show nothing of them.
func hide(fd int) error {
	state, err := unix.IoctlGetTermios(fd, readState)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO
	state.Lflag |= unix.ICANON | unix.ISIG
	state.Iflag |= unix.ICRNL
	return unix.IoctlSetTermios(fd, writeState, state)
}

// hiddenLine reads a line of a terminal that hide has made quiet. It changes nothing of the
// terminal itself: who waits for it may have given up and restored it.
func hiddenLine(fd int) ([]byte, error) {
	var line []byte
	var key [1]byte
	for {
		n, err := unix.Read(fd, key[:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0 && len(line) == 0:
			return nil, io.EOF
		case n == 0, key[0] == '\n':
			return line, nil
		default:
			line = append(line, key[0])
		}
	}
}
