package dialog

import "golang.org/x/sys/unix"

// dropTyped throws away what was typed and not yet read.
func dropTyped(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
