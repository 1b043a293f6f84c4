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
// It is verified before each run. A file with the same inode, size and times
// counts as unchanged, unless it was written just before it was read: then a
// second write could have the same times, and the digest decides. This finds a
// change that nobody reviewed; somebody who can write the file at the moment of
// a run could also write it a moment later.
type program struct {
	path   string // absolute, without symbolic links
	digest string // SHA-256, in hex
	seen   atomic.Pointer[stamp]
}

// stamp tells whether a file has changed without reading it.
type stamp struct {
	info    fs.FileInfo
	changed time.Time // its change time, where the system has one
	settled bool
}

// settle is the age from which on the times of a file are trusted.
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

// openProgram checks that a path, which has no symbolic links, can be run, and that
// nobody else could have put it there.
func openProgram(path, top string) (*program, *tool.Error) {
	const op = "executable.load"
	name := filepath.Base(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.NotFound, "the executable %s is not there", name).
			WithHint("put it beside the manifest, or name it with runtime.exec_path")
	case err != nil:
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s cannot be examined: %w", name, err)
	case info.IsDir():
		return nil, tool.Errorf(op, tool.Invalid, "%s is a folder of sources that has not been built", name).
			WithHint("run callgate build")
	case !info.Mode().IsRegular():
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s is not a regular file", name)
	}
	if err := checkExecutable(path, info); err != nil {
		return nil, err
	}
	if err := checkPrivate(path, info, top); err != nil {
		return nil, err
	}
	if err := checkStart(path); err != nil {
		return nil, err
	}
	p := &program{path: path}
	if p.digest, err = digestFile(path); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", name, err)
	}
	p.seen.Store(newStamp(info))
	return p, nil
}

// checkStart reports a file that no system would start: a text without an
// interpreter.
func checkStart(path string) *tool.Error {
	const op = "executable.load"
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", name, err)
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if head = head[:n]; err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return tool.Errorf(op, tool.Invalid, "the executable %s cannot be read: %w", name, err)
	}
	line, script := bytes.CutPrefix(head, []byte("#!"))
	switch {
	case n == 0:
		return tool.Errorf(op, tool.Invalid, "the executable %s is empty", name)
	case runtime.GOOS == "windows": // there the name's suffix decides
		return nil
	case !script && utf8.Valid(head[:min(n, 64)]) && !bytes.ContainsRune(head, 0):
		return tool.Errorf(op, tool.Invalid, "the executable %s is a text that does not say what runs it", name).
			WithHint("begin it with a line such as #!/bin/sh")
	case !script:
		return nil
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) == 0 {
		return tool.Errorf(op, tool.Invalid, "the first line of %s names no interpreter", name).
			WithHint("write one, such as #!/bin/sh")
	}
	if _, err := os.Stat(words[0]); err != nil {
		return tool.Errorf(op, tool.NotFound, "%s is to be run by %s, which is not there", name, tool.Truncate(words[0])).
			WithHint("install it, or write #!/usr/bin/env and its name")
	}
	return nil
}

// verify checks that the executable is still the one that was loaded.
func (p *program) verify(name string) error {
	const op = "executable.verify"
	info, err := os.Stat(p.path)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the executable of %s is gone: %w", name, err).
			WithHint("put it back, or reload the tools")
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

// locate turns a manifest's exec_path into a path without symbolic links. A
// relative path, or the file beside the manifest, must be inside the folder,
// also through links; an absolute path may lead out of it only if that is
// allowed.
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
		return "", tool.Errorf(op, tool.Denied, "the executable %s leads out of the tool folder", quote(path)).
			WithHint("write a path below it")
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

// beside is the name of the executable that has its manifest's name.
func beside(folder, file string) string {
	name := strings.TrimSuffix(filepath.Base(file), manifestSuffix)
	if _, err := os.Stat(filepath.Join(folder, name+programSuffix)); err == nil {
		return name + programSuffix
	}
	return name
}

// inside reports whether a path is in a folder; neither has symbolic links.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
