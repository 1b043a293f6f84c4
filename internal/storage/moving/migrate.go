package moving

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"

	"callgate/internal/durable"
	"callgate/internal/secret"
	"callgate/internal/secret/authority"
	"callgate/internal/statedir"
	"callgate/internal/storage"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/tables"
	"callgate/tool"
)

const op = "moving.Migrate"

// Migration moves what a state directory keeps in SQLite to a PostgreSQL database.
type Migration struct {
	State         statedir.Dir
	To            string // the URL of the database; of no use to Back
	Name, Version string // what the directory's kernel is called among the nodes of the database
	// Resume continues a copy that was broken off.
	Resume bool
	// Progress, unless nil, is told how far each store has come.
	Progress func(Progress)

	// switched, unless nil, is called when the database has become the kernel's, before anything else is done.
	switched func()
}

// Result is what a migration did, or would do.
type Result struct {
	Stores  []Line `json:"stores"`
	Node    string `json:"node,omitempty"`    // the ID under which the database keeps it
	Moved   bool   `json:"moved"`             // the kernel uses the database now
	Old     string `json:"old,omitempty"`     // where the file of SQLite lies now
	Warning string `json:"warning,omitempty"` // of the database server
}

// Info is what the database is told of a node while its rows are copied: it is not there whole, and nobody takes it
// over. The kernel that opens it says something else.
var Info = json.RawMessage(`{"moving": true}`)

// Plan counts what would be moved, and sees whether the database can take it. It changes nothing.
func (m *Migration) Plan(ctx context.Context) (Result, error) {
	if err := statedir.CheckDatabaseURL(m.To); err != nil {
		return Result{}, err
	}
	held, err := m.hold()
	if err != nil {
		return Result{}, err
	}
	defer held.Release()
	if done, err := m.isDone(held); err != nil || done {
		return Result{Moved: done}, err
	}
	id, err := held.ReadNode()
	if err != nil {
		return Result{}, err
	}
	there, err := pgnode.Probe(ctx, m.To, id)
	switch {
	case err != nil:
		return Result{}, err
	case there && !m.Resume:
		return Result{}, hasRows()
	}
	from, err := sqlite.Open(ctx, held.Database())
	if err != nil {
		return Result{}, err
	}
	c := Copy{From: placeOf(from), To: Place{Tables: postgres.Fits()}, Progress: m.Progress}
	lines, err := c.Count(ctx)
	return Result{Stores: lines}, errors.Join(err, from.Close())
}

// Run moves everything. When it returns without an error, the kernel of the state directory uses the database; until
// then it uses what it has used.
func (m *Migration) Run(ctx context.Context) (result Result, err error) {
	if err := statedir.CheckDatabaseURL(m.To); err != nil {
		return result, err
	}
	held, err := m.hold()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	done, err := m.isDone(held)
	if err != nil {
		return result, err
	}
	if !done {
		if result, err = m.copy(ctx, held); err != nil {
			return result, err
		}
		if err := held.MarkCopied(m.To); err != nil {
			return result, err
		}
		if err := held.WriteDatabaseURL(m.To); err != nil {
			return result, err
		}
		if m.switched != nil {
			m.switched()
		}
	}
	result.Moved = true
	if result.Old, err = retire(held.Database()); err == nil {
		held.UnmarkCopied()
	}
	return result, err
}

// hold takes the state directory: no kernel can use it meanwhile.
func (m *Migration) hold() (*statedir.Held, error) {
	if !exists(m.State.String()) {
		return nil, nothingToMove(m.State)
	}
	held, err := m.State.Hold()
	var e *tool.Error
	if errors.As(err, &e) && e.Kind == tool.Conflict {
		e.Hint = "end it first: callgate down"
	}
	return held, err
}

// isDone reports a state directory that names a database already, and still has the file that was copied: only its
// renaming is left.
func (m *Migration) isDone(held *statedir.Held) (bool, error) {
	url, err := held.ReadDatabaseURL()
	if err != nil {
		return false, err
	}
	switch there := exists(held.Database()); {
	case url != "" && !there:
		return false, tool.Errorf(op, tool.Conflict, "%s keeps everything in a database already", held).
			WithHint("%s names it", held.DatabaseURL())
	case url != "" && url != m.To:
		return false, tool.Errorf(op, tool.Conflict, "%s keeps everything in another database already", held).
			WithHint("%s names it", held.DatabaseURL())
	case url == "" && !there:
		return false, nothingToMove(held.Dir)
	}
	return url != "" && held.IsCopied(url), nil // else somebody wrote the file by hand, and nothing was copied
}

func nothingToMove(dir statedir.Dir) error {
	return tool.Errorf(op, tool.NotFound, "%s has no database file: there is nothing to move", dir).
		WithHint("a kernel that is started with CALLGATE_DATABASE, or --database, begins in that database")
}

func hasRows() error {
	return tool.Errorf(op, tool.Conflict, "the database has rows of this state directory already").
		WithHint("if a copy was broken off, continue it with --resume")
}

// copy copies everything and compares it.
func (m *Migration) copy(ctx context.Context, held *statedir.Held) (result Result, err error) {
	from, err := sqlite.Open(ctx, held.Database())
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	ctx, to, end, err := m.openNode(ctx, held, m.To)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, end()) }()
	result.Node, result.Warning = to.NodeID(), warning(to.Problem())
	c := Copy{From: placeOf(from), To: placeOf(to), Anchor: held.Anchor(), Key: held.JournalKey(), Progress: m.Progress}
	empty, err := c.Empty(ctx)
	switch {
	case err != nil:
		return result, err
	case !empty && !m.Resume:
		return result, hasRows()
	}
	if _, err := c.Count(ctx); err != nil {
		return result, err
	}
	result.Stores, err = c.Run(ctx)
	return result, orFenced(ctx, err)
}

// orFenced is the error of a copy, or that the node is in other hands, where that has ended it.
func orFenced(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && postgres.Fenced(cause) {
		return cause
	}
	return err
}

// openNode opens the database as the node of the state directory, and keeps its lease until end is called.
func (m *Migration) openNode(
	ctx context.Context, held *statedir.Held, url string,
) (_ context.Context, db *postgres.DB, end func() error, err error) {
	id, err := held.Node()
	if err != nil {
		return nil, nil, nil, err
	}
	placed, err := secret.ReadPlaced(held.UsersKey())
	if err != nil {
		return nil, nil, nil, err
	}
	node := postgres.Node{ID: id, Name: m.Name, Version: m.Version, Key: authority.New(placed)}
	if db, err = postgres.Open(ctx, url, node); err != nil {
		return nil, nil, nil, err
	}
	rows, err := plainrows.LookAtCodes(ctx, db.DB)
	switch {
	case err != nil:
	case rows.Signed && db.Key() == nil:
		err = noKey(held)
	case rows.Signed && !rows.Ours:
		err = tool.Errorf(op, tool.Denied, "the nodes of this database sign with another key than this one has (%s)", db.Key().ID()).
			WithHint("place their key here: %s", held.UsersKey())
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.Close())
	}
	ctx, stop, err := keepLease(ctx, db)
	if err != nil {
		return nil, nil, nil, errors.Join(err, db.Close())
	}
	return ctx, db, func() error { stop(); return db.Close() }, nil
}

func warning(problem error) string {
	if problem == nil {
		return ""
	}
	return problem.Error()
}

// keepLease sends heartbeats until end is called. A heartbeat that finds the node in other hands ends the context.
func keepLease(ctx context.Context, db *postgres.DB) (_ context.Context, end func(), err error) {
	if _, err := db.Nodes().Heartbeat(ctx, Info); err != nil {
		return nil, nil, err
	}
	node, _ := db.Node()
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticks := time.NewTicker(node.Lease / 4)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			beat, stop := context.WithTimeout(ctx, node.Lease/2)
			_, err := db.Nodes().Heartbeat(beat, nil)
			stop()
			if postgres.Fenced(err) {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }, nil
}

// driver is a driver that has tables.
type driver interface {
	storage.Driver
	Tables() tables.Store
}

func placeOf(d driver) Place {
	s := d.Stores()
	return Place{Tables: d.Tables(), Blobs: s.Blobs, Journal: s.Journal}
}

// retire gives the file of SQLite, and its log where it left one, another name. The file goes last: as long as it is
// there, a migration finishes this.
func retire(path string) (string, error) {
	old := path + ".moved"
	for n := 2; exists(old); n++ {
		old = path + ".moved" + strconv.Itoa(n)
	}
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if !exists(path + suffix) {
			continue
		}
		if err := durable.Move(path+suffix, old+suffix); err != nil {
			return "", &tool.Error{
				Op: op, Kind: tool.Unavailable, Message: "everything is in the database now, but the old file could not be renamed",
				Hint: "rename " + path + " by hand, or remove it", Err: err,
			}
		}
	}
	return old, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
