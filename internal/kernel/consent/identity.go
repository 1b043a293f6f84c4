package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"callgate/internal/app"
)

// # Whose ID it is
//
// What agents remember is kept by the ID of their app, and a stranger's file may claim
// any. So an ID belongs to the file, or to the folder without one, that had it first.
// Another that claims it has an ID of its own beside it, and what the first remembers
// only if a human accepts that.

// Owner returns the file or folder that an ID belongs to: the one that asks, if
// nobody had the ID before.
func (c *Consents) Owner(id, file string) (string, error) {
	c.claiming.Lock()
	defer c.claiming.Unlock()
	key := "id-" + hash(id)
	owner, err := c.store.AcceptedLines(key)
	if err != nil {
		return "", err
	}
	if len(owner) > 0 {
		return owner[0], nil
	}
	return file, c.store.AcceptLines(key, []string{file}, "the first session")
}

// OwnID is the ID of a file or folder whose own belongs to another. No file can write
// such an ID, and a folder that is named so has it only if it had it first.
func (c *Consents) OwnID(id, file string) string {
	for sum, n := hash(file), 8; ; n += 8 {
		own := id + "@" + sum[:min(n, len(sum))]
		if owner, err := c.Owner(own, file); err != nil || owner == file || n >= len(sum) {
			return own
		}
	}
}

// SharedID says that an app has what another of its ID remembers; empty when it has
// its ID for itself.
func SharedID(a *app.App) string {
	if a.IDOwner == "" {
		return ""
	}
	return shown(a, "have what the app "+a.ID+" of "+a.IDOwner+" remembers, and let that one have what this one does")
}

// Place is the one name of an app file, or of a folder, whatever links lead there.
func Place(path string) string {
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
