package executable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

// program is an executable as it was when its tool was loaded.
//
// It is proved again before each run. A file whose place, size and times are
// what they were is taken for unchanged, unless it had been written only just
// before it was read: then a second write could hide in the same tick of the
// clock, and the digest decides. The proof is against a change that nobody
// looked at; who may write the file at the very moment of a run could also
// write it a moment later.
type program struct {
	path   string // absolute, without symbolic links
	digest string // SHA-256, in hex
	seen   atomic.Pointer[stamp]
}

// stamp is what tells a file from a changed one without reading it.
type stamp struct {
	info    fs.FileInfo
	changed time.Time // its change time, where the system tells
	settled bool
}

// settle is how old a file must be for its times to be trusted.
const settle = 2 * time.Second

func newStamp(info fs.FileInfo) *stamp {
	s := &stamp{info: info, changed: changeTime(info)}
	last := info.ModTime()
	if s.changed.After(last) {
		last = s.changed
	}
	s.settled = time.Since(last) > settle
	return s
}

func (s *stamp) holds(info fs.FileInfo) bool {
	return s.settled && os.SameFile(s.info, info) && s.info.Size() == info.Size() &&
		s.info.ModTime().Equal(info.ModTime()) && s.changed.Equal(changeTime(info))
}

// digestFile returns a file's SHA-256, in hex.
func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// openProgram proves that a path without symbolic links is fit to run.
func openProgram(path string) (*program, *tool.Error) {
	const op = "executable.load"
	name := filepath.Base(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.NotFound, "the executable %s is not there", name).WithHint("put it beside the manifest, or name it with runtime.exec_path")
	case err != nil:
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s cannot be looked at: %w", name, err)
	case info.IsDir():
		return nil, tool.Errorf(op, tool.Invalid, "%s is a folder of sources that has not been built", name).WithHint("run callgate build")
	case !info.Mode().IsRegular():
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s is not a regular file", name)
	}
	if err := checkExecutable(path, info); err != nil {
		return nil, err
	}
	if err := startable(path); err != nil {
		return nil, err
	}
	p := &program{path: path}
	if p.digest, err = digestFile(path); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", name, err)
	}
	p.seen.Store(newStamp(info))
	return p, nil
}

// startable reports a text that no system would start.
func startable(path string) *tool.Error {
	const op = "executable.load"
	f, err := os.Open(path)
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", filepath.Base(path), err)
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if head = head[:n]; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", filepath.Base(path), err)
	}
	line, script := bytes.CutPrefix(head, []byte("#!"))
	switch {
	case n == 0:
		return tool.Errorf(op, tool.Invalid, "the executable %s is empty", filepath.Base(path))
	case runtime.GOOS == "windows": // the name's ending decides there
		return nil
	case !script && utf8.Valid(head[:min(n, 64)]) && !bytes.ContainsRune(head, 0):
		return tool.Errorf(op, tool.Invalid, "the executable %s is a text that does not say what runs it", filepath.Base(path)).
			WithHint("begin it with a line such as #!/bin/sh")
	case !script:
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return tool.Errorf(op, tool.Invalid, "the first line of %s names no interpreter", filepath.Base(path)).WithHint("write one, such as #!/bin/sh")
	}
	if _, err := os.Stat(words[0]); err != nil {
		return tool.Errorf(op, tool.NotFound, "%s is to be run by %s, which is not there", filepath.Base(path), tool.Truncate(words[0])).
			WithHint("install it, or write #!/usr/bin/env and its name")
	}
	return nil
}

// verify proves that the executable is the one that was loaded.
func (p *program) verify(name string) error {
	const op = "executable.verify"
	info, err := os.Stat(p.path)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the executable of %s is gone: %w", name, err).WithHint("put it back, or reload the tools")
	}
	if p.seen.Load().holds(info) {
		return nil
	}
	digest, err := digestFile(p.path)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the executable of %s cannot be read: %w", name, err)
	}
	if digest != p.digest {
		return tool.Errorf(op, tool.Denied, "the executable of %s has changed since it was loaded, so it is not run", name).
			WithHint("a human should look at %s, run callgate build if there is a %s, and reload the tools", p.path, LockName)
	}
	p.seen.Store(newStamp(info))
	return nil
}

// locate turns a manifest's exec_path into a path without symbolic links. What
// is relative, or beside the manifest, must stay inside the folder whatever
// links say; an absolute path may lead out of it only where that is allowed.
func locate(folder string, m *manifest.Manifest, absolute bool) (string, *tool.Error) {
	const op = "executable.load"
	path, shown, mayLeave := m.Exec, m.Exec, false
	switch {
	case path == "":
		shown = beside(folder, m.File)
		path = filepath.Join(folder, shown)
	case filepath.IsAbs(path):
		mayLeave = absolute
	case !filepath.IsLocal(path):
		return "", tool.Errorf(op, tool.Denied, "the executable %s leads out of the tool folder", quote(path)).WithHint("write a path below it")
	default:
		path = filepath.Join(folder, path)
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", tool.Errorf(op, tool.NotFound, "the executable %s is not there", quote(shown)).
			WithHint("put it there, or name another with runtime.exec_path")
	case err != nil:
		return "", tool.Errorf(op, tool.Invalid, "the executable %s cannot be found: %w", quote(shown), err)
	case !mayLeave && !inside(folder, real):
		return "", tool.Errorf(op, tool.Denied, "the executable %s lies outside the tool folder, at %s", quote(shown), real).
			WithHint("copy it beside the manifest, or have absolute paths allowed and name it by its own")
	}
	return real, nil
}

// beside is the name of the executable that belongs to a manifest by its name.
func beside(folder, file string) string {
	name := strings.TrimSuffix(filepath.Base(file), manifestSuffix)
	if _, err := os.Stat(filepath.Join(folder, name+programSuffix)); err == nil {
		return name + programSuffix
	}
	return name
}

// inside reports whether a path lies in a folder; both are without links.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
