package memstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/document"
	"callgate/internal/durable"
	"callgate/tool"
)

// oldFiles is the folder in which earlier versions kept a file of JSON lines for
// each collection.
type oldFiles struct {
	folder string // "": there is none

	mu   sync.Mutex      // held while files are imported
	done map[string]bool // the folders of users and apps that need no import
}

const (
	sessionsFolder = "sessions"
	extension      = ".jsonl"

	maxFile = 512 << 20 // bytes; earlier versions wrote no larger file
)

// folderOf returns the folder of a user and an app. Names are hashed, since they
// may contain any character.
func (o *oldFiles) folderOf(key Key) string {
	return filepath.Join(o.folder, fileName(key.User+"\x00"+key.App))
}

// path returns the file of a collection.
func (o *oldFiles) path(key Key) string {
	if key.Knowledge {
		return filepath.Join(o.folderOf(key), "knowledge"+extension)
	}
	return filepath.Join(o.folderOf(key), sessionsFolder, fileName(key.Session)+extension)
}

func fileName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// remove deletes the file of a collection, if it was left.
func (o *oldFiles) remove(key Key) error {
	if o.folder == "" {
		return nil
	}
	if err := os.Remove(o.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// list returns the files of a user and an app, the last changed at the end.
func (o *oldFiles) list(key Key) ([]string, error) {
	folder := o.folderOf(key)
	modified := map[string]time.Time{}
	var paths []string
	for _, dir := range []string{folder, filepath.Join(folder, sessionsFolder)} {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			if durable.IsPartial(f.Name()) { // the folder has no writer any more
				_ = os.Remove(filepath.Join(dir, f.Name()))
				continue
			}
			info, err := f.Info()
			if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(f.Name(), extension) {
				continue
			}
			path := filepath.Join(dir, f.Name())
			modified[path] = info.ModTime()
			paths = append(paths, path)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int { return modified[a].Compare(modified[b]) })
	return paths, nil
}

// importAll imports the files of the key's user and app, once. A file that cannot
// be read is reported in the log, and left.
func (s *Store) importAll(ctx context.Context, key Key) error {
	o := &s.old
	if o.folder == "" {
		return nil
	}
	folder := o.folderOf(key)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done[folder] {
		return nil
	}
	paths, err := o.list(key)
	if err != nil {
		return err
	}
	for _, path := range paths {
		data, modified, err := readFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another kernel imported it
		}
		if err != nil {
			s.log.Error("a memory file cannot be read, and is left", "file", path, "error", err)
			continue
		}
		h, ok := readHeader(data)
		if !ok || o.path(h.Key) != path {
			s.log.Error("a memory file does not say whose it is, and is left", "file", path)
			continue
		}
		if err := s.importFile(ctx, h.Key, path, data, modified); err != nil {
			return err
		}
	}
	for _, dir := range []string{filepath.Join(folder, sessionsFolder), folder, o.folder} {
		_ = os.Remove(dir) // unless something is left in it
	}
	o.done[folder] = true
	return nil
}

// importLeft imports the file of a collection that has no documents, if there is
// one. Its error is that of a file which cannot be read.
func (s *Store) importLeft(ctx context.Context, key Key) (imported bool, err error) {
	if s.old.folder == "" {
		return false, nil
	}
	path := s.old.path(key)
	data, modified, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.importFile(ctx, key, path, data, modified)
}

func readFile(path string) (data []byte, modified time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, modified, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, modified, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New("the file is larger than any that was written")
	}
	return data, info.ModTime(), err
}

// importFile writes what a file holds as documents, in one write, and then
// removes the file. The head has the file's hash: if the removal did not happen,
// the next import finds the hash and only removes the file. A collection that
// came about in another way stays, and so does the file.
func (s *Store) importFile(ctx context.Context, key Key, path string, data []byte, modified time.Time) error {
	sum := sha256.Sum256(data)
	c, damage := parseFile(data, key)
	c.head.Imported, c.head.Changed = hex.EncodeToString(sum[:]), modified.UTC()
	switch stored, err := s.importedHash(ctx, key); {
	case err != nil:
		return err
	case stored == nil:
		err := s.writeImport(ctx, c)
		if tool.KindOf(err) == tool.Conflict { // another kernel was faster
			return s.importFile(ctx, key, path, data, modified)
		}
		if err != nil {
			return err
		}
	case *stored != c.head.Imported:
		s.log.Error("a memory file was not imported, because the database has a newer memory; it is left", "file", path)
		return nil
	}
	s.putAway(path, damage)
	return nil
}

// putAway removes a file that was imported, or renames it if some of it could
// not be read. A file that stays all the same does no harm: it is never imported
// twice.
func (s *Store) putAway(path string, damage *damagedError) {
	if damage == nil || damage.torn {
		if damage != nil {
			s.log.Warn("a memory file was damaged: "+damage.Error()+"; the rest was imported", "file", path)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Error("a memory file was imported and cannot be removed: remove it", "file", path, "error", err)
		}
		return
	}
	damaged := path + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
	err := durable.Move(path, damaged)
	if errors.Is(err, fs.ErrNotExist) {
		return // another kernel imported it too
	}
	if err != nil {
		s.log.Error("a damaged memory file cannot be renamed", "file", path, "error", err)
		return
	}
	s.log.Warn("a memory file was damaged: "+damage.Error()+"; what can be read was imported, and the file was renamed",
		"file", damaged)
}

// importedHash returns the hash of the file that a collection was imported from,
// "" for none, and nil if there is no collection.
func (s *Store) importedHash(ctx context.Context, key Key) (*string, error) {
	stored, err := s.docs.Get(ctx, key.heads(), key.head())
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var h head
	_ = json.Unmarshal(stored.Data, &h) // a damaged head has no hash
	return &h.Imported, nil
}

// writeImport writes a collection that has no documents.
func (s *Store) writeImport(ctx context.Context, c *contents) error {
	if len(c.entries) == 0 && c.head.Seq == 0 {
		return nil
	}
	changes, err := c.headChange(0)
	for _, e := range c.entries {
		data, bad := json.Marshal(e)
		err = errors.Join(err, bad)
		changes = append(changes, document.Change{Collection: c.head.Key.entries(), Key: e.ID, Data: data})
	}
	if err != nil {
		return err
	}
	_, err = s.docs.Write(ctx, changes...)
	return err
}
