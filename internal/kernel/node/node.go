// Package node opens the storage of a kernel, and is what a kernel knows of the others with which it shares it.
//
// # Law
//
// A kernel alone keeps everything in SQLite, in its state directory. A kernel whose database is a PostgreSQL server is
// a node: one of many that share the database, each on its machine with a state directory of its own. What one kernel
// must be alone with, its journal, its approvals, its conversations and its tasks, stays its own there too: it is kept
// under the node's ID, which is made once, in the file node of the state directory.
//
// A node acts as long as its lease lasts, by the law of guard.go. What it writes is fenced by the database as well: see
// internal/storage/postgres.
//
// A state directory keeps to where its things are: one with a database file of its own is not opened on a server before
// callgate migrate has moved them, and one of a node is not opened without its server.
package node

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/kernel/shares"
	"callgate/internal/secret/authority"
	"callgate/internal/statedir"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/unread"
	"callgate/tool"
)

// Variable names the database in the environment.
const Variable = "CALLGATE_DATABASE"

// Options is how a kernel's storage is opened.
type Options struct {
	// Place is where everything is kept: the URL of a PostgreSQL database, or a file for SQLite. Default: what the file
	// database of the state directory names, else the file of SQLite in it.
	Place string
	State *statedir.Held
	// ShortLived says that a database that cannot be written, or cannot be opened, is read as far as it can be.
	ShortLived bool
	Log        *slog.Logger
	Timing     Timing
}

// Node is the storage of a kernel, and its place among the kernels that share it.
type Node struct {
	storage.Driver
	*Guard                  // nil: it is alone
	ID       string         // "": it is alone
	Key      *authority.Key // of the cluster; nil: it is alone, or has none
	Folders  *shares.Set    // that it shares with others; nil: none
	password string         // in the URL
	shared   *shared
	// Forwarded counts what other nodes were asked to answer.
	Forwarded Forwarding
	measure   sync.Once
	journal   measuredJournal
}

// Open opens the storage. If it can only be read, held says why.
func Open(ctx context.Context, o Options) (n *Node, held, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	place, named := o.Place, o.Place != ""
	if !named {
		if place, err = o.State.ReadDatabaseURL(); err != nil {
			return nil, nil, err
		}
	}
	if isServer(place) {
		n, err = openServer(ctx, o, place, named)
		return n, nil, err
	}
	if err := isNodes(o, place); err != nil {
		return nil, nil, err
	}
	driver, held, err := openFile(ctx, o, place)
	if err != nil {
		return nil, nil, err
	}
	if err := driver.Stores().Check(); err != nil {
		return nil, nil, errors.Join(err, driver.Close())
	}
	return &Node{Driver: driver}, held, nil
}

// isServer reports whether a place is the URL of a PostgreSQL database.
func isServer(place string) bool {
	scheme, _, is := strings.Cut(place, "://")
	return is && (scheme == "postgres" || scheme == "postgresql")
}

// isNodes refuses the directory of a node whose database nobody names: a file of SQLite beside it would hold another
// truth.
func isNodes(o Options, place string) error {
	if place != "" {
		return nil
	}
	id, err := o.State.ReadNode()
	if err != nil || id == "" || exists(o.State.Database()) {
		return err
	}
	return tool.Errorf("node.Open", tool.Invalid,
		"%s is the state directory of a node, and nothing names the database that it shares with others", o.State).
		WithHint("name it with %s or --database, or write its URL into %s", Variable, o.State.DatabaseURL())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openFile opens SQLite.
func openFile(ctx context.Context, o Options, place string) (d storage.Driver, held, err error) {
	const op = "callgate.Open"
	scheme, _, isURL := strings.Cut(place, "://")
	switch held = o.State.ReadOnly(); {
	case isURL:
		return nil, nil, tool.Errorf(op, tool.Invalid, "there is no storage of the kind %q", tool.Truncate(scheme)).
			WithHint("write postgres://user:password@host:5432/name for PostgreSQL, name a file for SQLite, or leave it empty")
	case held != nil:
		d, err = sqlite.OpenReading(ctx, o.State.Database())
	case place == "":
		// First of all, so that a directory of a newer Callgate is left as it was.
		d, err = sqlite.Open(ctx, o.State.Database())
	default:
		if place, err = filepath.Abs(place); err == nil {
			d, err = sqlite.Open(ctx, place)
		}
	}
	if err == nil || !o.ShortLived || place != "" {
		return d, held, err
	}
	empty, failed := sqlite.OpenEmpty(ctx, o.State.Database())
	if failed != nil {
		return nil, nil, err
	}
	if held == nil {
		held = err
	}
	return unread.New(empty, err), held, nil
}

// Secret returns the password of the database, which nobody may see; "": there is none in its URL.
func (n *Node) Secret() string { return n.password }

// passwordOf is the password in a URL.
func passwordOf(place string) string {
	u, err := url.Parse(place)
	if err != nil {
		return ""
	}
	if password, ok := u.User.Password(); ok {
		return password
	}
	return u.Query().Get("password")
}

// Hold has every write refused while reason returns an error.
func (n *Node) Hold(reason func() error) {
	if d, ok := n.Driver.(interface{ Hold(func() error) }); ok {
		d.Hold(reason)
	}
}

// Problem says what is wrong with the storage; nil: nothing is.
func (n *Node) Problem() error {
	if d, ok := n.Driver.(interface{ Problem() error }); ok {
		return d.Problem()
	}
	return nil
}

// Unread says why the storage cannot be read; nil: it can.
func (n *Node) Unread() error {
	if d, ok := n.Driver.(*unread.Driver); ok {
		return d.Problem()
	}
	return nil
}

// Opened says that everything that is read to open a kernel was read.
func (n *Node) Opened() {
	if d, ok := n.Driver.(*unread.Driver); ok {
		d.Opened()
	}
}

// Holder names this kernel among those that share its storage. A state directory has one kernel at a time, so one that
// starts again has the name of its former process.
func (n *Node) Holder(state string) string {
	if n.ID != "" {
		return n.ID
	}
	host, _ := os.Hostname() // without a name it is still told apart by its directory
	return host + ":" + state
}
