package dialog

import "golang.org/x/sys/unix"

const readState, writeState = unix.TCGETS, unix.TCSETS

// dropTyped discards what was typed and not yet read.
func dropTyped(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
