// Package backup writes a file that belongs to another program, so that the
// change can be undone.
//
// # Law
//
// The old bytes are kept before anything is written. A file is written only if
// it still is what the change was made from, and whole or not at all. A link
// stays a link: the file behind it is written. Undo gives the exact bytes and
// the mode back, and refuses when the file has changed since.
//
// Between the last check of a file and its writing its program may write too, and
// a running program may write its own version of the file later: it is better
// closed first.
package backup

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/durable"
	"callgate/tool"
)

// Change is a file as it is and as it is to be. Nothing is written yet.
type Change struct {
	Path         string
	Before, Next []byte
	Create       bool // the file does not exist yet
	Private      bool // a file that is created is its owner's alone, and so are its folders
}

// None reports whether the file is already as it should be.
func (c Change) None() bool { return bytes.Equal(c.Before, c.Next) }

// Backup is what was kept of a file before it was changed. Its bytes lie in
// one file and this record, as JSON, in another beside it: each is written
// whole or not at all, so two programs may keep backups at once.
type Backup struct {
	ID     string      `json:"id"`
	Path   string      `json:"path"` // of the file, as it was named
	File   string      `json:"file"` // the file itself, behind any link
	Mode   fs.FileMode `json:"mode"`
	Before string      `json:"before"` // SHA-256 of the bytes that were kept; empty: there was no file
	After  string      `json:"after"`  // and of those that took their place
	Time   time.Time   `json:"time"`
	// Folders are those that were made for the file, the innermost first. They go
	// with it, if they are empty.
	Folders []string `json:"folders,omitempty"`
	// Secret is the name of a secret that was put into the store. Then there is no
	// file, and whoever has the store undoes it: see Forget.
	Secret string    `json:"secret,omitempty"`
	Set    time.Time `json:"set,omitzero"` // when the store took it

	dir string
}

const (
	bytesSuffix = ".bytes"
	indexSuffix = ".json"
	maxIndex    = 64 << 10
)

func (b Backup) bytesPath() string { return filepath.Join(b.dir, b.ID+bytesSuffix) }
func (b Backup) indexPath() string { return filepath.Join(b.dir, b.ID+indexSuffix) }

// Apply writes a change, after it has kept the old bytes in a folder. It fails
// with a Conflict, and writes nothing, when the file is no longer what the
// change was made from.
func Apply(c Change, dir string) (Backup, error) {
	const op = "backup.Apply"
	now := time.Now().UTC()
	b := Backup{
		ID: now.Format("20060102-150405-") + strings.ToLower(rand.Text()[:8]), Path: c.Path,
		Before: sum(c.Before), After: sum(c.Next), Time: now, dir: dir,
	}
	fail := func(what string, err error) (Backup, error) {
		return Backup{}, &tool.Error{Op: op, Kind: tool.Unavailable, Message: what, Err: err}
	}
	var err error
	if b.Path, err = filepath.Abs(c.Path); err != nil {
		return fail("the file "+c.Path+" cannot be named", err)
	}
	if c.Create {
		return b.create(c)
	}
	if b.File, err = filepath.EvalSymlinks(b.Path); err != nil {
		return fail("the file "+c.Path+" cannot be found", err)
	}
	info, err := os.Stat(b.File)
	if err != nil {
		return fail("the file "+c.Path+" cannot be read", err)
	}
	b.Mode = info.Mode().Perm()
	if err := unchanged(op, b.File, b.Before); err != nil {
		return Backup{}, err
	}
	if err := b.keep(c.Before); err != nil {
		return fail("the old file cannot be kept in "+dir, err)
	}
	if err := write(b.File, c.Next, b.Mode); err != nil {
		b.forget() // nothing was changed
		return fail("the file "+b.File+" cannot be written", err)
	}
	return b, nil
}

// create writes a file that does not exist yet, and its folders. Its backup has
// no bytes.
func (b Backup) create(c Change) (Backup, error) {
	const op = "backup.Apply"
	folders := fs.FileMode(0o755)
	b.File, b.Mode, b.Before = b.Path, 0o644, ""
	if c.Private {
		b.Mode, folders = 0o600, 0o700
	}
	if _, err := os.Lstat(b.File); !errors.Is(err, fs.ErrNotExist) {
		return Backup{}, tool.Errorf(op, tool.Conflict, "%s was created by somebody else meanwhile", b.File)
	}
	for folder := filepath.Dir(b.File); ; folder = filepath.Dir(folder) {
		if _, err := os.Lstat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
		b.Folders = append(b.Folders, folder)
	}
	err := b.keep(nil)
	if err == nil {
		if err = os.MkdirAll(filepath.Dir(b.File), folders); err == nil {
			err = write(b.File, c.Next, b.Mode)
		}
		if err != nil {
			b.removeFolders()
			b.forget()
		}
	}
	if err != nil {
		return Backup{}, &tool.Error{Op: op, Kind: tool.Unavailable,
			Message: "the file " + b.File + " cannot be written", Err: err}
	}
	return b, nil
}

// removeFolders removes the folders that were made for the file, unless somebody
// has put something into them.
func (b Backup) removeFolders() {
	for _, folder := range b.Folders {
		if os.Remove(folder) != nil {
			return
		}
	}
}

// forget removes the backup: what it was for is done, and a leftover does no
// harm.
func (b Backup) forget() { _ = errors.Join(os.Remove(b.indexPath()), os.Remove(b.bytesPath())) }

// KeepSecret records that a secret was put into the store, and when, for whoever
// undoes it.
func KeepSecret(name string, set time.Time, dir string) error {
	now := time.Now().UTC()
	b := Backup{
		ID: now.Format("20060102-150405-") + strings.ToLower(rand.Text()[:8]), Secret: name, Set: set, Time: now, dir: dir,
	}
	if err := b.keep(nil); err != nil {
		return &tool.Error{Op: "backup.KeepSecret", Kind: tool.Unavailable,
			Message: "it cannot be recorded in " + dir + " that a secret was stored", Err: err}
	}
	return nil
}

// Forget removes the record of a secret.
func Forget(b Backup) { b.forget() }

// keep writes the bytes, and then the record that makes them a backup.
func (b Backup) keep(data []byte) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	record, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if err := write(b.bytesPath(), data, 0o600); err != nil {
		return err
	}
	return write(b.indexPath(), append(record, '\n'), 0o600)
}

// Undo gives a config its old bytes and mode back, and removes the backup. It
// fails with a Conflict if the file is neither as Apply left it nor as it was
// before, unless forced.
func Undo(b Backup, force bool) error {
	const op = "backup.Undo"
	if b.Before == "" {
		return b.uncreate(force)
	}
	data, err := os.ReadFile(b.bytesPath())
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.NotFound, Message: "the backup " + b.ID + " cannot be read", Err: err}
	}
	if sum(data) != b.Before {
		return tool.Errorf(op, tool.Invalid,
			"the backup %s is damaged: its bytes are not those that were kept", b.bytesPath())
	}
	if now, err := os.ReadFile(b.File); !force && (err != nil || !bytes.Equal(now, data)) {
		if err := unchanged(op, b.File, b.After); err != nil {
			return err
		}
	}
	if err := write(b.File, data, b.Mode); err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the file " + b.File + " cannot be written", Err: err}
	}
	b.forget()
	return nil
}

// uncreate removes a file that did not exist before the change.
func (b Backup) uncreate(force bool) error {
	const op = "backup.Undo"
	if _, err := os.Lstat(b.File); !force && err == nil {
		if err := unchanged(op, b.File, b.After); err != nil {
			return err
		}
	}
	if err := os.Remove(b.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the file " + b.File + " cannot be removed", Err: err}
	}
	b.removeFolders()
	b.forget()
	return nil
}

// List returns what can be undone, the newest first. Records that cannot be
// read are left out.
func List(dir string) ([]Backup, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &tool.Error{
			Op: "backup.List", Kind: tool.Unavailable, Message: "the folder of backups cannot be read", Err: err,
		}
	}
	var all []Backup
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), indexSuffix)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err != nil || info.Size() > maxIndex {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var b Backup
		if err != nil || json.Unmarshal(data, &b) != nil || b.ID != id || b.Secret == "" && !filepath.IsAbs(b.File) {
			continue
		}
		b.Mode, b.dir = b.Mode.Perm(), dir
		all = append(all, b)
	}
	slices.SortStableFunc(all, func(a, b Backup) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.ID, a.ID))
	})
	return all, nil
}

// unchanged reports a file that is not what it should be.
func unchanged(op, path, want string) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Conflict, Message: path + " cannot be read any more", Err: err}
	}
	if sum(now) != want {
		return tool.Errorf(op, tool.Conflict, "%s was changed by somebody else meanwhile", path).
			WithHint("close the program that it belongs to, look at the file, and try again")
	}
	return nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// write puts a file in the place of another, whole or not at all.
func write(path string, data []byte, mode fs.FileMode) error { return durable.Write(path, data, mode) }
