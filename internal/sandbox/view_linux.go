package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
)

// view builds the run's own tree of files, in its own mount namespace: a small
// root in memory, in it every entry of the layout at its own path, and nothing
// else. Then it becomes the root, and the old one is detached.
//
// The new root is mounted over /proc, which every Linux has and nothing of ours
// is below.
type view struct {
	*launcher.Program
	made map[string]bool // folders that are there
	done []mountEntry    // what is in the view so far, parents before children
}

const (
	atCWD = ^uintptr(99) // AT_FDCWD
	base  = "/proc"

	slotTree  = 0
	slotProc  = 1
	slotExact = 2
)

// devices are the nodes that programs cannot do without. Each is harmless.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// addView adds the calls that build the view of a layout. fresh is whether
// this machine permits a /proc of one's own.
func addView(p *launcher.Program, l *layout, temp int64, fresh bool) {
	v := &view{Program: p, made: map[string]bool{"/": true}}
	v.Step("begin a view of its own")
	v.Call(unix.SYS_UNSHARE, launcher.Int(unix.CLONE_NEWNS))
	v.mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if !fresh {
		v.open(slotProc, "/proc", unix.MOUNT_ATTR_RDONLY)
	}
	v.mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"+sizeOption(temp))
	for _, q := range v.arrange(l, temp) {
		v.add(q, l, temp)
		v.done = append(v.done, q)
	}
	v.addDevices()
	v.addProc(fresh)
	if l.home != "" {
		v.folder(l.home)
	}
	v.Step("change the root")
	here := v.Text(".")
	v.Call(unix.SYS_CHDIR, v.Text(base))
	v.Call(unix.SYS_PIVOT_ROOT, here, here)
	v.Call(unix.SYS_UMOUNT2, here, launcher.Int(unix.MNT_DETACH))
	v.Call(unix.SYS_CHDIR, v.Text("/"))
	v.attributes(atCWD, "/", 0, unix.MOUNT_ATTR_RDONLY)
}

// varTmp is the second folder for temporary files.
const varTmp = "/var/tmp"

// hasOwnVarTmp reports whether a run has a /var/tmp of its own, beside its /tmp. Usually it is a link to that, which
// cannot hold anything that is shown inside, such as the workspace.
func (l *layout) hasOwnVarTmp() bool {
	isInside := func(p mountEntry) bool { return within(p.path, varTmp) }
	return slices.ContainsFunc(l.places, isInside) && nearest(l.places, varTmp) == nil
}

// arrange puts everything that is mounted in order, parents before children.
func (v *view) arrange(l *layout, temp int64) []mountEntry {
	all := slices.Concat(l.places, l.hide)
	second := mountEntry{path: varTmp, kind: link, link: "/tmp"}
	if l.hasOwnVarTmp() {
		second = mountEntry{path: varTmp, kind: private, write: true}
	}
	for _, q := range []mountEntry{
		{path: "/tmp", kind: private, write: true},
		{path: "/dev/shm", kind: private, write: true},
		second,
	} {
		isThere := func(p mountEntry) bool { return p.path == q.path || q.kind == link && within(p.path, q.path) }
		if !slices.ContainsFunc(l.places, isThere) {
			all = append(all, q)
		}
	}
	slices.SortStableFunc(all, func(a, b mountEntry) int { return strings.Compare(a.path, b.path) })
	return all
}

func (v *view) add(q mountEntry, l *layout, temp int64) {
	v.Step("show ", q.path)
	switch q.kind {
	case folder, file:
		attr := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
		if !q.write {
			attr |= unix.MOUNT_ATTR_RDONLY
		}
		v.point(q)
		if q.exact {
			addOpen(v.Program, slotExact, q)
			v.copy(slotTree, launcher.Slot(slotExact), "", attr)
			v.Call(unix.SYS_CLOSE, launcher.Slot(slotExact))
		} else {
			v.open(slotTree, q.path, attr)
		}
		v.attach(slotTree, q.path)
	case link:
		v.folder(filepath.Dir(q.path))
		v.CallIgnoreError(unix.SYS_SYMLINKAT, v.Text(q.link), launcher.Int(atCWD), v.Text(base+q.path))
	case text:
		v.writeText(q)
	case private:
		v.folder(q.path) // of the new root, shown once more, so that it can be written when the root itself cannot
		v.Call(unix.SYS_FCHMODAT, launcher.Int(atCWD), v.Text(base+q.path), launcher.Int(0o1777))
		v.open(slotTree, base+q.path, 0)
		v.attach(slotTree, q.path)
	case hidden:
		flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_RDONLY)
		if slices.ContainsFunc(l.places, func(p mountEntry) bool { return p.path != q.path && within(p.path, q.path) }) {
			flags &^= unix.MS_RDONLY // something below it is shown all the same
		}
		v.mount("tmpfs", base+q.path, "tmpfs", flags, "mode=555,size=64k")
	case instead:
		addOpen(v.Program, slotExact, mountEntry{path: q.link, exact: true})
		v.copy(slotTree, launcher.Slot(slotExact), "", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		v.Call(unix.SYS_CLOSE, launcher.Slot(slotExact))
		v.attach(slotTree, q.path)
	case blank: // a device where devices do not work cannot even be opened
		v.open(slotTree, "/dev/null", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
		v.attach(slotTree, q.path)
	}
}

// writeText makes a file in memory.
func (v *view) writeText(q mountEntry) {
	const slot = 0
	v.folder(filepath.Dir(q.path))
	v.CallKeep(slot, unix.SYS_OPENAT, launcher.Int(atCWD), v.Text(base+q.path),
		launcher.Int(unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC), launcher.Int(0o444))
	if q.text != "" {
		v.Call(unix.SYS_WRITE, launcher.Slot(slot), v.Text(q.text), launcher.Int(len(q.text)))
	}
	v.Call(unix.SYS_CLOSE, launcher.Slot(slot))
}

func sizeOption(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return ",size=" + strconv.FormatInt(bytes, 10)
}

func (v *view) addDevices() {
	v.Step("show devices")
	for _, node := range devices {
		v.point(mountEntry{path: node, kind: file})
		v.open(slotTree, node, 0)
		v.attach(slotTree, node)
	}
	for _, name := range [][2]string{
		{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
		{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"},
	} {
		v.CallIgnoreError(unix.SYS_SYMLINKAT, v.Text(name[1]), launcher.Int(atCWD), v.Text(base+"/dev/"+name[0]))
	}
	v.folder("/dev/pts")
	v.CallIgnoreError(unix.SYS_MOUNT, v.Text("devpts"), v.Text(base+"/dev/pts"), v.Text("devpts"),
		launcher.Int(unix.MS_NOSUID|unix.MS_NOEXEC), v.Text("newinstance,ptmxmode=0666,mode=620"))
}

func (v *view) addProc(fresh bool) {
	v.Step("show /proc")
	v.folder("/proc")
	if fresh {
		v.mount("proc", base+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	} else {
		v.attach(slotProc, "/proc")
	}
}

// point makes what a place is mounted on, unless it shows there already.
func (v *view) point(q mountEntry) {
	v.folder(filepath.Dir(q.path))
	if over := nearest(v.done, q.path); over != nil && over.kind == folder {
		return
	}
	if q.kind == folder {
		v.folder(q.path)
		return
	}
	v.CallIgnoreError(unix.SYS_MKNODAT,
		launcher.Int(atCWD), v.Text(base+q.path), launcher.Int(unix.S_IFREG|0o444), launcher.Int(0))
}

// folder makes a folder and those above it, where there are none.
func (v *view) folder(path string) {
	if v.made[path] {
		return
	}
	v.made[path] = true
	if over := nearest(v.done, path); over != nil && over.kind == folder {
		return
	}
	v.folder(filepath.Dir(path))
	v.CallIgnoreError(unix.SYS_MKDIRAT, launcher.Int(atCWD), v.Text(base+path), launcher.Int(0o755))
}

// open takes a copy of what is mounted at and below a path, with attributes
// of its own.
func (v *view) open(slot int, path string, attr uint64) {
	v.copy(slot, launcher.Int(atCWD), path, attr)
}

func (v *view) copy(slot int, dir launcher.Arg, path string, attr uint64) {
	flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	v.CallKeep(slot, unix.SYS_OPEN_TREE, dir, v.Text(path), launcher.Int(flags))
	if attr == 0 {
		return
	}
	v.Call(unix.SYS_MOUNT_SETATTR, launcher.Slot(slot), v.Text(""), launcher.Int(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE),
		v.Bytes(words(attr, 0, 0, 0)), launcher.Int(unix.MOUNT_ATTR_SIZE_VER0))
}

// addOpen adds the call that opens a place to be named later. Since the
// path was made canonical, a process that may write above it could have put a
// link there that leads elsewhere; an exact place is not opened through a link.
func addOpen(p *launcher.Program, slot int, q mountEntry) {
	how := words(unix.O_PATH|unix.O_CLOEXEC, 0, 0)
	if q.exact {
		how = words(unix.O_PATH|unix.O_CLOEXEC, 0, unix.RESOLVE_NO_SYMLINKS)
	}
	p.CallKeep(slot, unix.SYS_OPENAT2, launcher.Int(atCWD), p.Text(q.path), p.Bytes(how), launcher.Int(len(how)))
}

// attach puts an open tree into the view.
func (v *view) attach(slot int, path string) {
	v.Call(unix.SYS_MOVE_MOUNT, launcher.Slot(slot), v.Text(""), launcher.Int(atCWD), v.Text(base+path),
		launcher.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
	v.Call(unix.SYS_CLOSE, launcher.Slot(slot))
}

func (v *view) attributes(dir uintptr, path string, flags int, attr uint64) {
	v.Call(unix.SYS_MOUNT_SETATTR, launcher.Int(dir), v.Text(path), launcher.Int(flags),
		v.Bytes(words(attr, 0, 0, 0)), launcher.Int(unix.MOUNT_ATTR_SIZE_VER0))
}

func (v *view) mount(source, target, kind string, flags uintptr, data string) {
	v.Call(unix.SYS_MOUNT, v.Text(source), v.Text(target), v.Text(kind), launcher.Int(flags), v.Text(data))
}
