//go:build linux && !amd64 && !arm64

package seccomp

// auditArch of zero says that no filter is known for this architecture.
const auditArch = 0

var forbiddenHere []int
