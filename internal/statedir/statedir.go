// Package statedir is the kernel's own folder: who may open it, what is in it,
// and how clients find the kernel that holds it.
//
// # Law
//
// At most one process holds a state directory, by an operating-system lock on
// one file in it. The lock ends with the process, however that ends, so nothing
// is left to repair but a socket file, which the next holder removes. Everything
// in the folder is for its owner alone.
package statedir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"callgate/internal/durable"
	"callgate/internal/ownership"
	"callgate/tool"
)

// Dir is the path of a state directory.
type Dir string

// Default returns the user's own: $CALLGATE_STATE, or $XDG_STATE_HOME/callgate, or
// .local/state/callgate in the home folder.
func Default() (Dir, error) {
	if dir := os.Getenv("CALLGATE_STATE"); dir != "" {
		return At(dir)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return Dir(filepath.Join(dir, "callgate")), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &tool.Error{
			Op: "statedir.Default", Kind: tool.Unavailable, Message: "there is no home folder for the state directory",
			Hint: "name one with --state or CALLGATE_STATE", Err: err,
		}
	}
	return Dir(filepath.Join(home, ".local", "state", "callgate")), nil
}

// At returns the state directory at a path.
func At(path string) (Dir, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", &tool.Error{
			Op: "statedir.At", Kind: tool.Invalid, Message: "the path of the state directory cannot be resolved", Err: err,
		}
	}
	return Dir(full), nil
}

// The files and folders in it.
func (d Dir) Database() string   { return filepath.Join(string(d), "callgate.db") }
func (d Dir) Anchor() string     { return filepath.Join(string(d), "journal.anchor") }
func (d Dir) JournalKey() string { return filepath.Join(string(d), "journal.key") }
func (d Dir) SeenHeads() string  { return filepath.Join(string(d), "journal.others") }
func (d Dir) Secrets() string    { return filepath.Join(string(d), "secrets.box") }
func (d Dir) UsersKey() string   { return filepath.Join(string(d), "user-secrets.key") }
func (d Dir) Servers() string    { return filepath.Join(string(d), "mcp") }
func (d Dir) Vectors() string    { return filepath.Join(string(d), "vectors") }
func (d Dir) Catalogs() string   { return filepath.Join(string(d), "catalogs") }
func (d Dir) Undo() string       { return filepath.Join(string(d), "undo") }
func (d Dir) Log() string        { return filepath.Join(string(d), "kernel.log") }
func (d Dir) humanKey() string   { return filepath.Join(string(d), "human.key") }
func (d Dir) lockFile() string   { return filepath.Join(string(d), "lock") }

func (d Dir) socketRecord() string { return filepath.Join(string(d), "kernel.sock.path") }

// maxSocket is the longest path that every system takes for a unix socket.
const maxSocket = 100

// Socket returns the path of the socket on which the kernel listens. If the path
// in the folder is too long for a socket, it is in the temporary folder, under a
// name derived from the folder's path. Processes may have different temporary
// folders, so the kernel records where its socket is; a record that was made for
// another folder, as in a copy, does not count.
func (d Dir) Socket() string {
	path := d.newSocket()
	if path == d.insideSocket() {
		return path
	}
	data, err := os.ReadFile(d.socketRecord())
	recorded := strings.TrimSpace(string(data))
	if err != nil || !filepath.IsAbs(recorded) || filepath.Base(recorded) != filepath.Base(path) {
		return path
	}
	return recorded
}

// newSocket returns the path of the socket of a kernel that starts now.
func (d Dir) newSocket() string {
	if inside := d.insideSocket(); len(inside) <= maxSocket {
		return inside
	}
	sum := sha256.Sum256([]byte(d))
	path := filepath.Join(os.TempDir(), "callgate-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
	if abs, err := filepath.Abs(path); err == nil { // TMPDIR may be relative, and clients run in other folders
		return abs
	}
	return path
}

func (d Dir) insideSocket() string { return filepath.Join(string(d), "kernel.sock") }

// Held is a state directory that this process holds.
type Held struct {
	Dir
	lock     *os.File // nil: it cannot be written, and has no lock
	readOnly error    // why it is only read; nil: it is written too
}

// Hold takes the directory, and makes it when it is absent. If another process
// holds it, that is a Conflict.
func (d Dir) Hold() (*Held, error) {
	const op = "statedir.Hold"
	if err := d.Make(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unusable(op, "the state directory cannot be used", err)
	}
	if err := d.lock(f); err != nil {
		holder := d.Holder()
		f.Close()
		if !errors.Is(err, errLocked) {
			return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the state directory cannot be locked", Err: err}
		}
		return nil, tool.Errorf(op, tool.Conflict, "process %d already serves %s", holder, d).
			WithHint("use it as a client, or name another state directory with --state")
	}
	// The holder's number is for people; the lock itself decides. It is written over
	// the old one: a full disk has no space for a file that was emptied first.
	number := strconv.Itoa(os.Getpid()) + "\n"
	if _, err := f.WriteAt([]byte(number), 0); err == nil {
		_ = f.Truncate(int64(len(number)))
	}
	return &Held{Dir: d, lock: f}, nil
}

// Gone reports whether the directory was removed, or another took its place, since
// this process took it.
func (h *Held) Gone() bool {
	if h.lock == nil {
		return false
	}
	mine, err := h.lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(h.lockFile())
	return errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(mine, there)
}

// Make makes the directory if it is absent. It is Denied, before anything is
// written, if the directory or something in it belongs to another user, and if a
// command with sudo would leave a directory of root in a user's home.
func (d Dir) Make() error {
	const op = "statedir.Make"
	if p := d.above(); p != nil && os.Geteuid() == 0 && os.Getenv("SUDO_UID") != "" {
		return notSafe(op, "root would make the state directory in a folder of another user", p)
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		if p := d.above(); p != nil && errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: %w", err, p)
		}
		return unusable(op, "the state directory cannot be made", err)
	}
	entries, err := os.ReadDir(string(d))
	for _, e := range append([]fs.DirEntry{nil}, entries...) {
		if p := d.ownerProblem(e); p != nil {
			return notSafe(op, "the state directory is not used", p)
		}
	}
	if err != nil {
		return unusable(op, "the state directory cannot be read", err)
	}
	return nil
}

// ownerProblem reports an entry of the directory, or for nil the directory itself,
// that belongs to another user.
func (d Dir) ownerProblem(e fs.DirEntry) *ownership.Problem {
	path, look := string(d), os.Stat
	if e != nil {
		path, look = filepath.Join(string(d), e.Name()), os.Lstat
	}
	info, err := look(path)
	if err != nil {
		return nil // using it reports it, unless it has just been removed
	}
	p := ownership.Owner(path, info)
	if p != nil {
		p.Fix = ownership.ChangeOwner(string(d))
	}
	return p
}

// above reports the nearest folder above a directory that is absent, if that folder
// belongs to another user.
func (d Dir) above() *ownership.Problem {
	folder := string(d)
	info, err := os.Stat(folder)
	if err == nil {
		return nil
	}
	for err != nil && filepath.Dir(folder) != folder {
		folder = filepath.Dir(folder)
		info, err = os.Stat(folder)
	}
	if err != nil {
		return nil
	}
	return ownership.Owner(folder, info)
}

func unusable(op, message string, err error) error {
	return &tool.Error{
		Op: op, Kind: tool.Unavailable, Message: message, Err: err, Hint: "name another with --state or CALLGATE_STATE",
	}
}

// notSafe is the error of a folder that is not the user's alone.
func notSafe(op, message string, err error) error {
	e := tool.Errorf(op, tool.Denied, "%s: %w", message, err)
	var p *ownership.Problem
	if errors.As(err, &p) {
		e.Hint = p.Fix + "; or name another state directory with --state or CALLGATE_STATE"
	}
	return e
}

// lock takes the lock. The lock of a holder that has died is free, but a process
// that it was just starting may have it for a moment longer.
func (d Dir) lock(f *os.File) error {
	const inherited = 2 * time.Second
	for deadline := time.Now().Add(inherited); ; time.Sleep(2 * time.Millisecond) {
		err := lockFile(f)
		if !errors.Is(err, errLocked) || alive(d.Holder()) || time.Now().After(deadline) {
			return err
		}
	}
}

// Holder returns the process that last wrote its number into the lock, or 0.
func (d Dir) Holder() int {
	data, err := os.ReadFile(d.lockFile())
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return pid
}

// Release releases the directory. The lock is given up before its file is closed:
// a process that is being started has a copy of the file for a moment, which would
// hold the lock.
func (h *Held) Release() error {
	if h.lock == nil {
		return nil
	}
	return errors.Join(unlockFile(h.lock), h.lock.Close())
}

// Socket returns the path of the socket on which this process listens, or will.
func (h *Held) Socket() string { return h.newSocket() }

// HumanKey returns the key that proves a human's authority, and makes it when it
// is absent. A process that can read this file can answer approvals, so no
// sandboxed tool ever sees it.
func (h *Held) HumanKey() (string, error) {
	key, err := h.ReadHumanKey()
	if err == nil || tool.KindOf(err) != tool.NotFound {
		return key, err
	}
	key = rand.Text()
	if err := durable.Write(h.humanKey(), []byte(key+"\n"), 0o600); err != nil {
		return "", &tool.Error{
			Op: "statedir.HumanKey", Kind: tool.Unavailable, Message: "the human's key cannot be written", Err: err,
		}
	}
	return key, nil
}

// ReadHumanKey returns the key that a kernel made here. A key that others may read
// is Denied: it proves nothing.
func (d Dir) ReadHumanKey() (string, error) {
	const op = "statedir.HumanKey"
	data, err := readSecret(d.humanKey())
	var shared *ownership.Problem
	switch {
	case errors.As(err, &shared):
		return "", tool.Errorf(op, tool.Denied, "the human's key is not used: %w", shared).
			WithHint("%s; if somebody may have read it, remove it: the next start makes a new one", shared.Fix)
	case errors.Is(err, fs.ErrNotExist):
		return "", &tool.Error{
			Op: op, Kind: tool.NotFound, Message: "there is no human's key yet: no kernel ever ran here", Err: err,
		}
	case err != nil:
		return "", &tool.Error{Op: op, Kind: tool.Denied, Message: "the human's key cannot be read", Err: err}
	}
	key := strings.TrimSpace(string(data))
	if len(key) < 16 {
		return "", tool.Errorf(op, tool.Invalid, "the human's key in %s is damaged", d.humanKey()).
			WithHint("stop the kernel and remove that file; the next start makes a new one")
	}
	return key, nil
}

// readSecret reads a file that must be the user's alone.
func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if p := ownership.Secret(path, info); p != nil {
		return nil, p
	}
	return io.ReadAll(f)
}

// PrepareSocket makes the socket's folder and removes the socket that a dead
// kernel left. Only the holder may do this.
func (h *Held) PrepareSocket() (string, error) {
	const op = "statedir.PrepareSocket"
	path := h.Socket()
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the socket's folder cannot be made", Err: err}
	}
	forbidden := fs.FileMode(0o022)
	if path != h.insideSocket() {
		forbidden = 0o077 // it is in a folder that all users share
	}
	if err := ownership.Folder(folder, forbidden); err != nil {
		return "", notSafe(op, "the folder of the kernel's socket is not safe", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "a stale socket cannot be removed", Err: err}
	}
	if path == h.insideSocket() {
		return path, nil
	}
	if err := durable.Write(h.socketRecord(), []byte(path+"\n"), 0o600); err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the socket's path cannot be recorded", Err: err}
	}
	return path, nil
}

// String returns the path.
func (d Dir) String() string { return string(d) }

var errLocked = fmt.Errorf("locked by another process")
