package sandbox

import "golang.org/x/sys/unix"

// auditArch is how a filter knows the architecture of a call.
const auditArch = unix.AUDIT_ARCH_AARCH64

// forbiddenHere are forbidden calls that only this architecture has.
var forbiddenHere []int
