package seccomp

import "golang.org/x/sys/unix"

// auditArch is the architecture of a call, as a filter sees it.
const auditArch = unix.AUDIT_ARCH_X86_64

// forbiddenHere are forbidden calls that only this architecture has.
var forbiddenHere = []int{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_LOOKUP_DCOOKIE}
