// Package unfinished knows where a kernel has files that are not complete yet, so that
// the next kernel removes what a killed one left.
//
// # Law
//
// A kernel that writes an unfinished file into a folder of a user first notes the
// folder in its state directory, once for each folder. The name of the file carries a
// random word that this kernel alone has, and the note carries it too. The next kernel
// of the state directory, which holds the directory alone, looks into the folders that
// were noted, and nowhere else, and removes the regular files of that name: they can
// be those of the dead kernel only, whatever other kernels write there now. A kernel
// that ends by itself has none, and removes its notes.
//
// The notes outlast the end of the process. They are not brought to the disk for each
// file: a power cut may leave an unfinished file whose note was lost.
package unfinished

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
)

const (
	notesName = "unfinished" // in the state directory
	prefix    = ".callgate-"
	suffix    = ".tmp"
	maxNotes  = 10_000
)

// Notes are the notes of one kernel.
type Notes struct {
	path string
	word string // in the names of this kernel's files

	mu   sync.Mutex
	file *os.File // nil until the first note
	seen map[string]bool
	left []byte // the notes of earlier kernels whose files could not be removed
}

// Open removes what earlier kernels of a state directory left, in the folders that
// they noted and in the directory itself, and returns the notes of this one. Only the
// holder of the directory may call it. What cannot be removed is reported, and noted
// again, so that a later kernel tries.
func Open(state string) (*Notes, error) {
	n := &Notes{path: filepath.Join(state, notesName), word: strings.ToLower(rand.Text()[:12]), seen: map[string]bool{}}
	return n, errors.Join(n.clear(), clearState(state))
}

// Name notes a folder, unless it is noted already, and returns the name for an
// unfinished file in it. A folder that cannot be noted, as on a full disk, is written
// to all the same: the file is removed in any case unless the kernel is killed.
func (n *Notes) Name(folder string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.seen[folder] && len(n.seen) < maxNotes {
		n.seen[folder] = n.note(n.word, folder) == nil
	}
	return prefix + n.word + "-" + rand.Text() + suffix
}

// note adds a line; the caller holds the lock.
func (n *Notes) note(word, folder string) (err error) {
	if n.file == nil {
		if n.file, err = os.OpenFile(n.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(n.file, "%s %s\n", word, strconv.Quote(folder))
	return err
}

// Close removes the notes, which are of no use to anybody if the kernel has no
// unfinished file any more. The notes of files that could not be removed stay.
func (n *Notes) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil
	}
	err := n.file.Close()
	n.file = nil
	return errors.Join(err, n.keepLeft())
}

// keepLeft replaces the notes by those that are still of use.
func (n *Notes) keepLeft() error {
	if len(n.left) == 0 {
		return os.Remove(n.path)
	}
	return durable.Write(n.path, n.left, 0o600)
}

// clear removes the files of the notes that are there, and the notes with them.
func (n *Notes) clear() error {
	data, err := os.ReadFile(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		word, folder, ok := parse(lines.Text())
		if !ok {
			continue // half a line, or not ours
		}
		if err := removeFrom(folder, prefix+word+"-"); err != nil {
			errs = append(errs, err)
			n.left = fmt.Appendf(n.left, "%s %s\n", word, strconv.Quote(folder))
		}
	}
	if !bytes.Equal(n.left, data) {
		errs = append(errs, n.keepLeft())
	}
	return errors.Join(errs...)
}

// parse reads a line of notes.
func parse(line string) (word, folder string, ok bool) {
	word, quoted, found := strings.Cut(line, " ")
	folder, err := strconv.Unquote(quoted)
	ok = found && err == nil && word != "" && filepath.IsAbs(folder) && !strings.ContainsFunc(word, isNoWord)
	return word, folder, ok
}

func isNoWord(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// removeFrom removes the unfinished files of a folder whose names begin so. A folder
// that is gone has none.
func removeFrom(folder, begin string) error {
	return removeFiles(folder, func(name string, _ fs.FileInfo) bool {
		return strings.HasPrefix(name, begin) && strings.HasSuffix(name, suffix)
	})
}

// clearState removes what earlier kernels left of files of the state directory. The
// secrets may have another writer at this moment, so theirs must be a minute old.
func clearState(state string) error {
	const writing = time.Minute
	partial := func(name string, info fs.FileInfo) bool {
		return durable.IsPartial(name) && (!strings.HasPrefix(name, ".secrets.") || time.Since(info.ModTime()) > writing)
	}
	var errs []error
	for _, folder := range []string{".", "mcp", "vectors", "artifacts/partial", "undo/calls"} {
		errs = append(errs, removeFiles(filepath.Join(state, filepath.FromSlash(folder)), partial))
	}
	return errors.Join(errs...)
}

// removeFiles removes the regular files of a folder that are chosen.
func removeFiles(folder string, choose func(string, fs.FileInfo) bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !choose(e.Name(), info) {
			continue
		}
		if err := os.Remove(filepath.Join(folder, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
