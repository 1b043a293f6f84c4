package sandbox

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
)

// What Landlock can permit on files, by what a path is for. A kernel that does not
// know a right does not check it.
const (
	rightsRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM

	// What a rule about a single file may name.
	rightsOfFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	rightsOfDevice = rightsOfFile &^ unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// rightsKnown are the file rights that an ABI checks.
func rightsKnown(abi int) uint64 {
	known := uint64(1)<<13 - 1
	if abi >= 2 {
		known |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		known |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		known |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return known
}

// rights is one rule: what is permitted at and below a path.
type rights struct {
	mountEntry
	allow uint64
}

// landlockABI asks the kernel which Landlock it has; 0 is none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// addLandlock adds the calls that forbid every access to files but what the
// rules permit; without the network also TCP, unless the network is the run's
// own; and signals and abstract sockets to anyone outside.
func addLandlock(p *launcher.Program, abi int, tcp bool, rules []rights) {
	const slotRules, slotPath = 0, 1
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rightsKnown(abi)}
	size := unsafe.Offsetof(attr.Handled_access_net)
	if abi >= 4 {
		size = unsafe.Offsetof(attr.Scoped)
		if !tcp {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= 6 {
		size = unsafe.Offsetof(attr.Quiet_access_fs)
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	data := p.Bytes(words(attr.Handled_access_fs, attr.Handled_access_net, attr.Scoped))
	p.Step("set up Landlock")
	p.CallKeep(slotRules, unix.SYS_LANDLOCK_CREATE_RULESET, data, launcher.Int(size), launcher.Int(0))
	for _, r := range rules {
		// A path_beneath_attr: the rights, and the descriptor in four bytes.
		rule := p.Bytes(words(r.allow&rightsKnown(abi), 0))
		p.Step("permit ", r.path)
		addOpen(p, slotPath, r.mountEntry)
		p.Put(slotPath, rule.Offset(8))
		p.Call(unix.SYS_LANDLOCK_ADD_RULE,
			launcher.Slot(slotRules), launcher.Int(unix.LANDLOCK_RULE_PATH_BENEATH), rule, launcher.Int(0))
		p.Call(unix.SYS_CLOSE, launcher.Slot(slotPath))
	}
	p.Step("take on Landlock")
	p.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, launcher.Slot(slotRules), launcher.Int(0))
	p.Call(unix.SYS_CLOSE, launcher.Slot(slotRules))
}

// words lays out numbers as the kernel reads them.
func words(list ...uint64) []byte {
	b := make([]byte, 0, 8*len(list))
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}
