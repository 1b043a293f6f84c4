package match

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/gate/autorun"
	"callgate/internal/secretfile"
)

// Disk is what decisions about a call found on disk: where folders lead, what is in them, and
// what scripts hold. It looks once, so that everything that is decided about a call is
// decided by the same; [Disk.Changed] looks again. The zero value is ready. It is for one
// goroutine.
type Disk struct {
	// Imagined says that there is no disk: folders lead nowhere else, and bring nothing.
	Imagined bool

	real    map[string]string
	folders map[string]autorun.Folder
	digests map[string]string
}

// maxScript bounds a script whose content a yes is bound to.
const maxScript = 16 << 20

// look returns what was found under a key, or finds it.
func look[T any](found *map[string]T, key string, find func(string) T) T {
	if value, ok := (*found)[key]; ok {
		return value
	}
	if *found == nil {
		*found = map[string]T{}
	}
	value := find(key)
	(*found)[key] = value
	return value
}

// Real is a path without links, as far as it exists.
func (d *Disk) Real(path string) string {
	if d.Imagined {
		return filepath.Clean(path)
	}
	return look(&d.real, path, realPath)
}

func realPath(path string) string {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil || filepath.Dir(path) == path {
		return cmp.Or(real, path)
	}
	return filepath.Join(realPath(filepath.Dir(path)), filepath.Base(path))
}

// Folder is what programs find in a folder.
func (d *Disk) Folder(path string) autorun.Folder {
	if d.Imagined {
		return autorun.Folder{}
	}
	return look(&d.folders, path, autorun.Look)
}

// Digest is that of a file's content; "" if there is no such file, or it is too large.
func (d *Disk) Digest(path string) string {
	if d.Imagined {
		return ""
	}
	return look(&d.digests, path, digest)
}

func digest(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxScript)); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Changed names something that is not what it was when it was looked at; "": all of it is.
func (d *Disk) Changed() string {
	if d == nil {
		return ""
	}
	for _, path := range slices.Sorted(maps.Keys(d.real)) {
		if realPath(path) != d.real[path] {
			return path
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.folders)) {
		if autorun.Look(path) != d.folders[path] {
			return path
		}
	}
	for _, path := range slices.Sorted(maps.Keys(d.digests)) {
		if digest(path) != d.digests[path] {
			return path
		}
	}
	return ""
}

// isWithin reports whether a path is a folder or lies in it.
func isWithin(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// maxWalked bounds the names that are looked at below a folder.
const maxWalked = 20_000

// HoldsSecrets reports whether a file below a folder is named like a secret, or whether that
// cannot be told. hidden says whether names that begin with a dot count, and follow whether
// links are followed: then a link may lead to any file.
func (d *Disk) HoldsSecrets(folder string, hidden, follow bool) bool {
	if d.Imagined {
		return true
	}
	found, left := false, maxWalked
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		left--
		switch {
		case err != nil || left < 0:
			found = true
			return fs.SkipAll
		case path == folder:
			return nil
		case e.Name() == ".git", !hidden && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case secretfile.Is(e.Name()), follow && e.Type()&fs.ModeSymlink != 0:
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found || err != nil
}
