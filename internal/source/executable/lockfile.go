package executable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"callgate/internal/durable"
	"callgate/tool"
)

// LockName is the file beside the layers of a tools folder in which a build
// records what it read and made.
const LockName = "tools.lock.json"

// cacheName is the folder beside the layers in which artifacts are kept.
const cacheName = ".cache"

const (
	lockFormat = 1
	maxLock    = 16 << 20 // bytes
)

// lockFile is what a build recorded. A tool that is not in it, or that differs
// from it, is not loaded.
type lockFile struct {
	Format int     `json:"format"`
	Tools  []Entry `json:"tools"`
}

// Entry is one tool as a build recorded it. Paths are slash-separated, and
// relative to the tools folder; Built is relative to the cache.
type Entry struct {
	Name           string `json:"name"`
	Version        string `json:"version"`
	Layer          string `json:"layer"`
	Manifest       string `json:"manifest"`
	ManifestDigest string `json:"manifest_digest"`
	Source         string `json:"source,omitempty"`        // the folder it was built from
	SourceDigest   string `json:"source_digest,omitempty"` //
	Built          string `json:"built,omitempty"`         // the artifact; "": the manifest names the executable
	Digest         string `json:"digest"`                  // of the executable
	OverriddenBy   string `json:"overridden_by,omitempty"` // the layer whose tool of this name wins
}

// of returns the entry of a manifest.
func (l *lockFile) of(manifest string) (Entry, bool) {
	for _, e := range l.Tools {
		if e.Manifest == manifest {
			return e, true
		}
	}
	return Entry{}, false
}

// readLock returns what a build recorded, or nil without a lock.
func readLock(path string) (*lockFile, error) {
	const op = "executable.lock"
	bad := func(kind tool.Kind, format string, args ...any) error {
		return tool.Errorf(op, kind, format, args...).WithHint("run callgate build to write it again")
	}
	data, err := readSmall(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, bad(tool.Invalid, "%s cannot be read: %w", path, err)
	}
	var l lockFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, bad(tool.Invalid, "%s is damaged: %w", path, err)
	}
	if l.Format != lockFormat {
		return nil, bad(tool.Invalid, "%s has format %d, and this program knows %d", path, l.Format, lockFormat)
	}
	for _, e := range l.Tools {
		if e.Built != "" && !filepath.IsLocal(filepath.FromSlash(e.Built)) {
			return nil, bad(tool.Denied, "%s: the artifact of %s leads out of the cache", path, quote(e.Name))
		}
	}
	return &l, nil
}

// write replaces the old lock, whole or not at all. The same tools give the same
// bytes.
func (l *lockFile) write(path string) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(path, append(data, '\n'), 0o644)
}

// digestOf is a digest as the lock writes it.
func digestOf(hex string) string { return "sha256:" + hex }

// artifact is the path of an entry's artifact.
func artifact(cache string, e Entry) string {
	return filepath.Join(cache, filepath.FromSlash(e.Built))
}

// named is a path as the lock writes it.
func named(parts ...string) string { return strings.Join(parts, "/") }
