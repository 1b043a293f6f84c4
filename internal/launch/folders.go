package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"callgate/internal/durable"
	"callgate/tool"
)

// Folders is where programs have folders of their own to start in: a folder of the
// kernel's state directory, which no tool sees. The zero value has none.
type Folders string

// packageFile stops package managers of JavaScript from looking for a project further up.
const packageFile = "package.json"

// Of returns the folder of one program, which it may write. The key tells programs apart.
func (f Folders) Of(kind, key string) (string, error) {
	if f == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(key))
	return f.make(kind + "-" + hex.EncodeToString(sum[:8]))
}

// Empty returns a folder with nothing to load in it, for programs that may not write
// where they start.
func (f Folders) Empty() (string, error) {
	if f == "" {
		return "", nil
	}
	return f.make("empty")
}

// Filled returns a folder that fill made for a key, once: what is in it does not change.
func (f Folders) Filled(kind, key string, fill func(dir string) error) (string, error) {
	if f == "" {
		return "", tool.Errorf("launch.folder", tool.Internal, "there is no place for the folders of programs")
	}
	base, err := f.make(kind)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	dir := filepath.Join(base, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	made, err := os.MkdirTemp(base, ".new-")
	if err == nil {
		if err = fill(made); err == nil {
			err = durable.Move(made, dir)
		}
		if err != nil {
			_ = os.RemoveAll(made)
		}
	}
	if _, there := os.Stat(dir); err != nil && there != nil { // another call may have made it meanwhile
		return "", tool.Errorf("launch.folder", tool.Unavailable, "the folder in which a program would start cannot be made: %w", err)
	}
	return dir, nil
}

func (f Folders) make(name string) (string, error) {
	dir := filepath.Join(string(f), name)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			err = writeMissing(filepath.Join(dir, packageFile), "{\"private\": true}\n")
		}
	}
	if err != nil {
		return "", tool.Errorf("launch.folder", tool.Unavailable, "the folder %s, in which a program would start, "+
			"cannot be made: %w", dir, err).WithHint("see whether the disk is full, and who may write the state directory")
	}
	return dir, nil
}

func writeMissing(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return durable.Write(path, []byte(text), 0o600)
}
