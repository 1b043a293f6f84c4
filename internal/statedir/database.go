package statedir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"callgate/internal/durable"
	"callgate/internal/ownership"
	"callgate/tool"
)

// DatabaseURL is the file that names the database in which everything is kept, instead of callgate.db.
func (d Dir) DatabaseURL() string { return filepath.Join(string(d), "database") }

func (d Dir) nodeFile() string { return filepath.Join(string(d), "node") }

// ReadDatabaseURL returns the URL of the database that this directory names; "": it names none. A file that others may
// read is Denied, as it may hold a password.
func (d Dir) ReadDatabaseURL() (string, error) {
	const op = "statedir.Database"
	data, err := readSecret(d.DatabaseURL())
	var shared *ownership.Problem
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR): // the directory itself is told of elsewhere
		return "", nil
	case errors.As(err, &shared):
		return "", tool.Errorf(op, tool.Denied, "the file that names the database is not used: %w", shared).
			WithHint("%s; if there is a password in it that somebody may have read, change it at the server", shared.Fix)
	case err != nil:
		return "", tool.Errorf(op, tool.Denied, "the file that names the database cannot be read: %w", err)
	}
	address := strings.TrimSpace(string(data))
	if err := CheckDatabaseURL(address); err != nil {
		return "", tool.Errorf(op, tool.Invalid, "%s does not hold one line with the URL of a PostgreSQL database",
			d.DatabaseURL()).
			WithHint("write postgres://user:password@host:5432/name into it; to keep everything in this directory, remove it")
	}
	return address, nil
}

// CheckDatabaseURL refuses what is not the URL of a PostgreSQL database. It does not repeat it: there may be a password
// in it.
func CheckDatabaseURL(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && u.Host+u.RawQuery != "" {
		return nil
	}
	return tool.Errorf("statedir.Database", tool.Invalid, "the database is not named by the URL of a PostgreSQL database").
		WithHint("write postgres://user:password@host:5432/name, with special characters of the password as %%XX")
}

// DescribeDatabase names a database for people: where it is, without who uses it and the password.
func DescribeDatabase(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "PostgreSQL"
	}
	name := "PostgreSQL, " + strings.TrimPrefix(u.Path, "/")
	if u.Host != "" {
		name += " at " + u.Host
	}
	return name
}

// WriteDatabaseURL has this directory name a database. The file is its owner's alone.
func (d Dir) WriteDatabaseURL(address string) error {
	if err := durable.Write(d.DatabaseURL(), []byte(address+"\n"), 0o600); err != nil {
		const op = "statedir.Database"
		return tool.Errorf(op, tool.Unavailable, "the file that names the database cannot be written: %w", err)
	}
	return nil
}

// copiedFile says into which database the file of SQLite beside it was copied, proven.
func (d Dir) copiedFile() string { return filepath.Join(string(d), "database.copied") }

// MarkCopied notes that what is in callgate.db is in a database, too, and that the database counts.
func (d Dir) MarkCopied(address string) error {
	if err := durable.Write(d.copiedFile(), []byte(addressSum(address)+"\n"), 0o600); err != nil {
		const op = "statedir.Database"
		return tool.Errorf(op, tool.Unavailable, "it cannot be noted that everything was copied: %w", err)
	}
	return nil
}

// UnmarkCopied forgets that, once callgate.db is gone or counts again.
func (d Dir) UnmarkCopied() { _ = os.Remove(d.copiedFile()) } // one that stays says nothing of another file

// IsCopied reports whether what is in callgate.db was copied into a database. Somebody may have written the file that
// names the database by hand, and then nothing was.
func (d Dir) IsCopied(address string) bool {
	data, err := readSecret(d.copiedFile())
	return err == nil && strings.TrimSpace(string(data)) == addressSum(address)
}

func addressSum(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:])
}

// ReadNode returns the ID of this directory's kernel among those that share a database; "": it has none, as it never
// used one.
func (d Dir) ReadNode() (string, error) {
	const op = "statedir.Node"
	data, err := readSecret(d.nodeFile())
	var shared *ownership.Problem
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.As(err, &shared):
		e := tool.Errorf(op, tool.Denied, "the file with the node's ID is not used: %w", shared)
		return "", e.WithHint("%s", shared.Fix)
	case err != nil:
		return "", &tool.Error{Op: op, Kind: tool.Denied, Message: "the file with the node's ID cannot be read", Err: err}
	}
	id := strings.TrimSpace(string(data))
	if !isNodeID(id) {
		return "", tool.Errorf(op, tool.Invalid, "the node's ID in %s is damaged", d.nodeFile()).
			WithHint("restore the file from a copy: callgate nodes at another machine lists the IDs")
	}
	return id, nil
}

func isNodeID(id string) bool {
	return len(id) >= 16 && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Node returns the ID of this directory's kernel, and makes it when it is absent. What the database keeps for this
// kernel is kept under it, so it never changes.
func (h *Held) Node() (string, error) {
	id, err := h.ReadNode()
	if err != nil || id != "" {
		return id, err
	}
	if h.readOnly != nil {
		return "", h.readOnly
	}
	id = strings.ToLower(rand.Text())
	if err := durable.Write(h.nodeFile(), []byte(id+"\n"), 0o600); err != nil {
		return "", &tool.Error{
			Op: "statedir.Node", Kind: tool.Unavailable, Message: "the node's ID cannot be written", Err: err,
		}
	}
	return id, nil
}
