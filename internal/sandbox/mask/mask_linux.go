// Package mask hides paths from a process that otherwise keeps the whole disk: in
// a mount namespace of its own something empty lies over each of them. Others it
// keeps as they are.
//
// # Law
//
//   - A hidden folder is an empty one that cannot be written; a hidden file reads
//     as an empty one. What is shown inside a hidden folder stays where it is.
//   - A hidden path cannot be uncovered by moving it: neither it nor a folder above
//     it can be renamed or removed, because each of them is a mount point.
//   - What is kept can be read, and not written, moved or removed. If somebody
//     outside replaces it, the new one is not kept.
//   - The mounts hold against whoever lacks CAP_SYS_ADMIN in this namespace, and a
//     user namespace made inside finds them locked.
package mask

import (
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/tool"
)

// Disk is what of the disk is hidden.
type Disk struct {
	hidden []place
	kept   []place  // read-only
	links  []link   // to kept files
	pins   []string // folders above a hidden or kept path, parents first
}

// place is one hidden path.
type place struct {
	path   string
	folder bool
	shown  []place // inside it
}

// link is a link to a kept file: in its place the file itself is mounted, because
// otherwise the link could be replaced.
type link struct{ path, target string }

// maxShown is how many places inside one hidden folder can be shown: each is held
// in a slot of the program.
const maxShown = launcher.Slots - 1

// Paths are what a process is kept from, and what it is not.
type Paths struct {
	Always  []string // hidden, whatever is shown
	Own     string   // a folder that is shown all the same; "" for none
	Private []string // hidden unless they are shown
	Shown   []string
	Kept    []string // read-only
}

// Plan decides what is hidden of what exists, by names without links. Showing a folder
// around a path that is always hidden shows nothing of that path. What exists of Kept,
// and is not hidden, is read-only.
func Plan(p Paths) (*Disk, error) {
	kernel, open := resolve(p.Always), resolve(p.Shown)
	var own []place
	if p.Own != "" {
		own = resolve([]string{p.Own})
	}
	d := &Disk{}
	for _, h := range resolve(slices.Concat(p.Always, p.Private)) {
		isOpen := slices.ContainsFunc(open, func(o place) bool { return o.path == h.path })
		if isOpen && !slices.ContainsFunc(kernel, func(k place) bool { return k.path == h.path }) || d.Hides(h.path) {
			continue
		}
		inside := open
		if slices.ContainsFunc(kernel, func(k place) bool { return within(h.path, k.path) }) {
			inside = own
		}
		for _, o := range inside {
			if within(o.path, h.path) && o.path != h.path {
				h.shown = append(h.shown, o)
			}
		}
		if len(h.shown) > maxShown {
			const text = "more than %d places inside %s are to be shown"
			return nil, tool.Errorf("sandbox.Run", tool.Invalid, text, maxShown, h.path).
				WithHint("show %s itself, or fewer places in it", h.path)
		}
		d.hidden = append(d.hidden, h)
		d.pin(h.path)
	}
	for _, k := range resolve(p.Kept) {
		in := func(o place) bool { return within(k.path, o.path) }
		if !d.Hides(k.path) && !slices.ContainsFunc(d.kept, in) {
			d.kept = append(d.kept, k)
			d.pin(k.path)
		}
	}
	d.keepLinks(p.Kept)
	slices.Sort(d.pins)
	return d, nil
}

// keepLinks notes which of the kept paths are links to a file.
func (d *Disk) keepLinks(kept []string) {
	for _, path := range kept {
		info, err := os.Lstat(path)
		dir, err2 := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil || err2 != nil || info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		l := link{path: filepath.Join(dir, filepath.Base(path))}
		if l.target, err = filepath.EvalSymlinks(path); err != nil || d.Hides(l.target) || slices.Contains(d.links, l) {
			continue
		}
		if info, err := os.Stat(l.target); err == nil && info.Mode().IsRegular() {
			d.links = append(d.links, l)
			d.pin(l.path)
		}
	}
}

// pin notes the folders above a path.
func (d *Disk) pin(path string) {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if !slices.Contains(d.pins, dir) {
			d.pins = append(d.pins, dir)
		}
	}
}

// resolve gives paths their own names, and leaves out those that do not exist.
func resolve(paths []string) []place {
	var list []place
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || slices.ContainsFunc(list, func(p place) bool { return p.path == real }) {
			continue
		}
		list = append(list, place{path: real, folder: info.IsDir()})
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	return list
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// Hides reports whether a path is out of sight.
func (d *Disk) Hides(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	in := func(p place) bool { return within(path, p.path) }
	return slices.ContainsFunc(d.hidden, func(h place) bool { return in(h) && !slices.ContainsFunc(h.shown, in) })
}

const atCWD = ^uintptr(99) // AT_FDCWD

// Add adds the calls that make a mount namespace and hide the paths in it. fresh
// is whether this machine permits a /proc of one's own.
func (d *Disk) Add(p *launcher.Program, fresh bool) {
	p.Step("begin a view of its own")
	p.Call(unix.SYS_UNSHARE, launcher.Int(unix.CLONE_NEWNS))
	mount(p, "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, dir := range d.pins {
		p.Step("keep ", dir, " in its place")
		mount(p, dir, dir, "", unix.MS_BIND|unix.MS_REC, "")
	}
	for _, h := range d.hidden {
		p.Step("hide ", h.path)
		if !h.folder {
			mount(p, os.DevNull, h.path, "", unix.MS_BIND, "")
			continue
		}
		h.add(p)
	}
	for _, k := range d.kept {
		p.Step("keep ", k.path, " as it is")
		keep(p, k.path, k.path)
	}
	for _, l := range d.links {
		p.Step("keep ", l.path, " as it is")
		keep(p, l.target, l.path)
	}
	if fresh {
		p.Step("show /proc")
		mount(p, "proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
}

// add covers a folder, and puts what is shown of it back into its place.
func (h place) add(p *launcher.Program) {
	for i, s := range h.shown {
		flags := unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
		p.CallKeep(i, unix.SYS_OPEN_TREE, launcher.Int(atCWD), p.Text(s.path), launcher.Int(flags))
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	mount(p, "tmpfs", h.path, "tmpfs", flags, "mode=555,size=64k")
	for i, s := range h.shown {
		for _, dir := range between(h.path, s.path) {
			p.CallIgnoreError(unix.SYS_MKDIRAT, launcher.Int(atCWD), p.Text(dir), launcher.Int(0o555))
		}
		if s.folder {
			p.CallIgnoreError(unix.SYS_MKDIRAT, launcher.Int(atCWD), p.Text(s.path), launcher.Int(0o555))
		} else {
			p.CallIgnoreError(unix.SYS_MKNODAT,
				launcher.Int(atCWD), p.Text(s.path), launcher.Int(unix.S_IFREG|0o444), launcher.Int(0))
		}
		p.Call(unix.SYS_MOVE_MOUNT, launcher.Slot(i), p.Text(""), launcher.Int(atCWD), p.Text(s.path),
			launcher.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
		p.Call(unix.SYS_CLOSE, launcher.Slot(i))
	}
	mount(p, "", h.path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
}

// keep mounts a path read-only, onto itself or in the place of a link to it.
func keep(p *launcher.Program, path, at string) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	attr := binary.NativeEndian.AppendUint64(nil, unix.MOUNT_ATTR_RDONLY)
	attr = append(attr, make([]byte, unix.MOUNT_ATTR_SIZE_VER0-len(attr))...)
	p.CallKeep(0, unix.SYS_OPEN_TREE, launcher.Int(atCWD), p.Text(path), launcher.Int(flags))
	p.Call(unix.SYS_MOUNT_SETATTR, launcher.Slot(0), p.Text(""), launcher.Int(unix.AT_EMPTY_PATH|unix.AT_RECURSIVE),
		p.Bytes(attr), launcher.Int(unix.MOUNT_ATTR_SIZE_VER0))
	move := p.Call
	if at != path {
		move = p.CallIgnoreError // not every Linux mounts onto a link
	}
	move(unix.SYS_MOVE_MOUNT, launcher.Slot(0), p.Text(""), launcher.Int(atCWD), p.Text(at),
		launcher.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
	p.Call(unix.SYS_CLOSE, launcher.Slot(0))
}

// between lists the folders below one and above a path, parents first.
func between(dir, path string) []string {
	var list []string
	for up := filepath.Dir(path); up != dir && within(up, dir); up = filepath.Dir(up) {
		list = append(list, up)
	}
	slices.Reverse(list)
	return list
}

func mount(p *launcher.Program, source, target, kind string, flags uintptr, data string) {
	p.Call(unix.SYS_MOUNT, p.Text(source), p.Text(target), p.Text(kind), launcher.Int(flags), p.Text(data))
}
