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
// nobody had the ID before. Written says that a file writes the ID. Of two owners the
// one among all nodes counts; own is the one of this node alone.
func (c *Consents) Owner(id, file string, written bool) (owner, own string, err error) {
	c.claiming.Lock()
	defer c.claiming.Unlock()
	lines, err := c.store.AcceptedLines(ownerKey(id))
	if err != nil {
		return "", "", err
	}
	if len(lines) > 0 {
		own = lines[0]
	}
	// What a folder or another file of this node had first, no file here has among all nodes.
	if own == "" || own == file && written {
		if owner, err = c.claims.owner(id, file, written); err != nil {
			return "", "", err
		}
	}
	switch {
	case owner == file && own != "":
		return owner, "", c.store.AcceptLines(ownerKey(id), nil, "the first session")
	case owner != "":
		return owner, own, nil
	case own != "":
		return own, own, nil
	}
	return file, file, c.store.AcceptLines(ownerKey(id), []string{file}, "the first session")
}

// Join gives up that an ID belongs to a file of this node alone: a human accepted that it is what it is at all nodes.
func (c *Consents) Join(id string) error {
	c.claiming.Lock()
	defer c.claiming.Unlock()
	return c.store.AcceptLines(ownerKey(id), nil, "who accepted the app")
}

func ownerKey(id string) string { return "id-" + hash(id) }

// OwnID is the ID of a file or folder whose own belongs to another. No file can write
// such an ID, and a folder that is named so has it only if it had it first.
func (c *Consents) OwnID(id, file string) string {
	for sum, n := hash(file), 8; ; n += 8 {
		own := id + "@" + sum[:min(n, len(sum))]
		if owner, _, err := c.Owner(own, file, false); err != nil || owner == file || n >= len(sum) {
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
	if !filepath.IsAbs(a.IDOwner) { // another node's: there it is an app of all nodes
		return shown(a, "have what the app "+a.ID+" of "+a.IDOwner+" remembers, its queues, its knowledge bases and the "+
			"grants that count for it at every node, and let that one have what this one does")
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
