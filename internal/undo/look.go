package undo

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fileid"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// looker notes what lies at paths of a workspace.
type looker struct {
	ctx    context.Context
	grant  tool.Grant
	limits Limits
	blobs  *blobs            // nil: contents are hashed, and not kept
	secret func([]byte) bool // reports whether a text holds a secret; nil: none does
	// known are the images of an earlier look: a file that is as one of them is not read again.
	known map[fileKey]Image
	// shallow says that the contents of files in folders are not kept.
	shallow bool

	images map[string]Image
	order  []string
	missed []NotKept
	bytes  int64 // of the contents so far
	files  int   // in folders, so far
	over   bool  // those were too many
}

// modeBits are what is noted of a mode.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// path notes what lies at an absolute path, and everything in it if it is a folder; of a
// folder with too much in it, nothing. Of a path at which nothing lies, the folders above
// it that are not there are noted too. It reports whether the path can be looked at.
func (l *looker) path(path string) bool {
	name, err := filepath.Rel(l.grant.Workspace, path)
	if err != nil || !filepath.IsLocal(name) {
		l.miss(path, "it lies outside the workspace")
		return false
	}
	if l.grant.Root == nil || l.grant.Forbids(name) {
		return false // the call is refused
	}
	if l.isSecret(name) {
		l.miss("[secret]", "its path holds a secret")
		return false
	}
	for above := filepath.Dir(name); above != "."; above = filepath.Dir(above) {
		if _, err := l.grant.Root.Lstat(above); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		l.add(above, Image{Kind: Absent})
	}
	first := len(l.order)
	l.name(name, false)
	if !l.over {
		return true
	}
	for _, inside := range l.order[first:] {
		delete(l.images, inside)
	}
	l.order, l.over, l.files = l.order[:first], false, 0
	l.miss(name, "there are more than "+amount.Of(l.limits.Files, "file")+" in it")
	return false
}

// again notes what lies at a name at which something was noted before; a folder without
// what lies in it.
func (l *looker) again(name string) Image {
	local := filepath.FromSlash(name)
	if i, done := l.images[name]; done {
		return i
	}
	if info, err := l.grant.Root.Lstat(local); err == nil && info.IsDir() {
		return Image{Kind: Folder, Mode: info.Mode() & modeBits}
	}
	l.name(local, false)
	return l.images[name] // the zero Image where it cannot be read
}

// name notes what lies at a name of the workspace.
func (l *looker) name(name string, inFolder bool) {
	if _, done := l.images[filepath.ToSlash(name)]; done {
		return
	}
	info, err := l.grant.Root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), isNoFolder(err):
		l.add(name, Image{Kind: Absent})
	case err != nil:
		l.miss(name, "it cannot be read: "+withoutPath(err))
	case info.Mode().IsRegular():
		l.add(name, l.file(name, info, inFolder && l.shallow))
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := l.grant.Root.Readlink(name)
		if err != nil {
			l.miss(name, "it cannot be read: "+withoutPath(err))
			return
		}
		if l.isSecret(target) {
			l.miss(name, "its target holds a secret")
			return
		}
		l.add(name, Image{Kind: Link, Target: target})
	case info.IsDir():
		l.add(name, Image{Kind: Folder, Mode: info.Mode() & modeBits})
		l.folder(name)
	default:
		l.add(name, Image{Kind: Other, Mode: info.Mode() & modeBits})
	}
}

// folder notes what lies in a folder.
func (l *looker) folder(name string) {
	if l.grant.ContainsHidden(name) {
		return // no tool deletes or moves it
	}
	dir, err := workfile.OpenDir(l.grant.Root, name)
	if err != nil {
		l.miss(name, "it cannot be read: "+withoutPath(err))
		return
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		l.miss(name, "it cannot be read: "+withoutPath(err))
		return
	}
	entries, err := f.Readdirnames(l.limits.Files + 1)
	_ = f.Close()
	if err != nil && err != io.EOF {
		l.miss(name, "it cannot be read: "+withoutPath(err))
		return
	}
	for _, entry := range entries {
		if l.files++; l.files > l.limits.Files || l.over || l.ctx.Err() != nil {
			l.over = true
			return
		}
		switch inside := filepath.Join(name, entry); {
		case l.grant.IsHidden(dir, entry):
		case l.isSecret(inside):
			l.miss("[secret]", "its path holds a secret")
		default:
			l.name(inside, true)
		}
	}
}

// file notes a regular file.
func (l *looker) file(name string, info fs.FileInfo, bare bool) Image {
	i := Image{Kind: File, Mode: info.Mode() & modeBits, Size: info.Size(), ID: idOf(info)}
	if k := l.known[i.key()]; k.Ref != "" && i.SameFile(k) {
		i.Ref = k.Ref
		return i
	}
	switch {
	case bare:
	case i.Size > l.limits.File:
		i.Why = fmt.Sprintf("it has %s, and at most %s are kept", amount.Bytes(i.Size), amount.Bytes(l.limits.File))
	case l.blobs != nil && l.bytes+i.Size > l.limits.Call:
		i.Why = fmt.Sprintf("the files of the call have more than %s", amount.Bytes(l.limits.Call))
	default:
		l.read(name, &i)
	}
	return i
}

// read hashes a file, and keeps its content.
func (l *looker) read(name string, i *Image) {
	open := func() (io.ReadCloser, error) {
		f, info, err := workfile.OpenRegular(l.grant.Root, name)
		if err != nil {
			return nil, err
		}
		if idOf(info) != i.ID || info.Size() != i.Size {
			return nil, errors.Join(errChanging, f.Close())
		}
		return f, nil
	}
	const atOnce = 1 << 20 // of larger ones, the content is read twice
	f, err := open()
	if err != nil {
		i.Why = why(err)
		return
	}
	sum, finder := sha256.New(), &finder{find: l.secret}
	seen := io.MultiWriter(sum, finder)
	if i.Size <= atOnce {
		data := make([]byte, i.Size)
		if _, err = io.ReadFull(&contextReader{l.ctx, f}, data); err == nil {
			_, _ = seen.Write(data)
			open = bytesReader(data)
		}
	} else {
		_, err = io.CopyBuffer(seen, &contextReader{l.ctx, f}, make([]byte, atOnce))
	}
	_ = f.Close()
	if err != nil {
		i.Why = why(err)
		return
	}
	ref := refOf(sum.Sum(nil))
	i.Ref = ref
	switch {
	case l.blobs == nil:
		return
	case finder.found:
		i.Why = "it holds a secret"
		return
	}
	if err := l.blobs.put(l.ctx, ref, i.Size, open); err != nil {
		i.Why = why(err)
		return
	}
	i.Kept = true
	l.bytes += i.Size
}

// finder looks for secrets in what is written to it, also across two writes.
type finder struct {
	find  func([]byte) bool // nil: there are none
	tail  []byte
	found bool
}

// Write looks into a part.
func (f *finder) Write(p []byte) (int, error) {
	const longest = 64 << 10
	if f.find == nil || f.found {
		return len(p), nil
	}
	text := p
	if len(f.tail) > 0 {
		text = append(f.tail, p...)
	}
	f.found = f.find(text)
	f.tail = append([]byte(nil), text[max(0, len(text)-longest):]...)
	return len(p), nil
}

func (l *looker) isSecret(text string) bool { return l.secret != nil && l.secret([]byte(text)) }

func (l *looker) add(name string, i Image) {
	name = filepath.ToSlash(name)
	if _, done := l.images[name]; done {
		return
	}
	if l.images == nil {
		l.images = map[string]Image{}
	}
	l.images[name], l.order = i, append(l.order, name)
}

func (l *looker) miss(path, why string) {
	path = filepath.ToSlash(path)
	for _, m := range l.missed {
		if m.Path == path {
			return
		}
	}
	l.missed = append(l.missed, NotKept{path, why})
}

// why says in words why a content could not be kept.
func why(err error) string {
	if errors.Is(err, errChanging) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errChanging.Error()
	}
	return "it could not be kept: " + withoutPath(err)
}

// withoutPath is an error without the path of the state directory, or of a root.
func withoutPath(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// isNoFolder reports whether a file is in the place of a folder on the way.
func isNoFolder(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not a directory")
}

// Look returns what lies at a name of a workspace now; a folder without what lies in it.
// The content of a file is hashed if it is not larger than limit.
func Look(ctx context.Context, g tool.Grant, name string, limit int64) (Image, error) {
	local := filepath.FromSlash(name)
	if g.Root == nil || !filepath.IsLocal(local) || g.Forbids(local) {
		return Image{}, tool.Errorf("undo.Look", tool.Denied, "%q is closed to tools", tool.Truncate(name))
	}
	l := &looker{ctx: ctx, grant: g, limits: Limits{File: limit}.withDefaults()}
	i := l.again(filepath.ToSlash(local))
	if len(l.missed) > 0 {
		return Image{}, tool.Errorf("undo.Look", tool.Unavailable, "%q cannot be looked at: %s", name, l.missed[0].Why)
	}
	return i, nil
}

// IsStill reports whether a path at which there is info now, or nothing, is as it was when
// the image was made, as far as its kind and its times tell.
func (i Image) IsStill(info fs.FileInfo) bool {
	switch {
	case info == nil:
		return i.Kind == Absent
	case info.Mode().IsRegular():
		return i.Kind == File && idOf(info) == i.ID && info.Size() == i.Size
	case info.IsDir():
		return i.Kind == Folder
	case info.Mode()&fs.ModeSymlink != 0:
		return i.Kind == Link
	default:
		return i.Kind == Other
	}
}

// idOf is the identity of a file.
func idOf(info os.FileInfo) FileID {
	id, _ := fileid.Of(info)
	return FileID{id, info.ModTime().UnixNano()}
}

// fileKey tells files apart, under any names.
type fileKey struct{ device, inode uint64 }

func (i Image) key() fileKey { return fileKey{i.ID.Device, i.ID.Inode} }

// settled is how long before a look a file must have been written, for a later look to
// tell by its times that it was not written since: clocks of file systems are coarse.
const settled = 50 * time.Millisecond

// knownFiles are the images of files that a later look can know again.
func knownFiles(images map[string]Image, looked time.Time) map[fileKey]Image {
	known := map[fileKey]Image{}
	for _, i := range images {
		if i.Kind == File && i.ID.Inode != 0 && i.ID.Modified < looked.Add(-settled).UnixNano() {
			known[i.key()] = i
		}
	}
	return known
}
