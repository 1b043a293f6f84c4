package seccomp

import "golang.org/x/sys/unix"

// auditArch is the architecture of a call, as a filter sees it.
const auditArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere are forbidden calls that only this architecture has.
var forbiddenHere []int
