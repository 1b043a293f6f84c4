package moving

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"callgate/internal/durable"
	"callgate/internal/statedir"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// Back moves everything from the database that a state directory names to SQLite in that directory. When it returns
// without an error, the kernel uses the file; until then it uses the database. What the database has of this node stays
// there, marked as moved; the next migration makes another node.
func (m *Migration) Back(ctx context.Context) (result Result, err error) {
	held, err := m.hold()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	url, err := held.ReadDatabaseURL()
	switch {
	case err != nil:
		return result, err
	case url == "":
		return result, tool.Errorf(op, tool.Conflict, "%s names no database: there is nothing to move back", held).
			WithHint("only what callgate migrate has moved is moved back")
	}
	fresh := held.Database() + ".new"
	if err := removeDatabase(fresh); err != nil { // of one that was broken off; meanwhile the kernel may have gone on
		return result, backError(err)
	}
	if result, err = m.copyBack(ctx, held, url, fresh); err != nil {
		return result, err
	}
	return result, m.switchBack(held, url, fresh, &result)
}

// copyBack copies everything to a fresh file and compares it.
func (m *Migration) copyBack(
	ctx context.Context, held *statedir.Held, url, fresh string,
) (result Result, err error) {
	ctx, from, end, err := m.openNode(ctx, held, url)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, end()) }()
	to, err := sqlite.Open(ctx, fresh)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if err := plainrows.Verify(ctx, from.DB); err != nil { // a file has no signatures
		return result, err
	}
	result.Node = from.NodeID()
	c := Copy{From: placeOf(from), To: placeOf(to), Anchor: held.Anchor(), Key: held.JournalKey(), Progress: m.Progress}
	result.Stores, err = c.Run(ctx)
	return result, orFenced(ctx, err)
}

// switchBack has the kernel use the fresh file. That happens when the file that names the database is removed.
func (m *Migration) switchBack(held *statedir.Held, url, fresh string, result *Result) error {
	if exists(held.Database()) { // left by a move that was broken off: the database counts
		old, err := retire(held.Database())
		if err != nil {
			return err
		}
		result.Old = old
	}
	if err := held.MarkCopied(url); err != nil { // until the next step has ended, both are there and the same
		return err
	}
	if err := durable.Move(fresh, held.Database()); err != nil {
		return backError(err)
	}
	if err := os.Remove(held.DatabaseURL()); err != nil {
		return backError(err)
	}
	if err := durable.SyncFolder(held.String()); err != nil {
		return backError(err)
	}
	if m.switched != nil {
		m.switched()
	}
	held.UnmarkCopied()
	result.Moved = true
	return held.RetireNode()
}

// removeDatabase removes a file of SQLite with its log.
func removeDatabase(path string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func backError(err error) error {
	return &tool.Error{
		Op: op, Kind: tool.Unavailable, Message: "the state directory cannot be changed", Err: err,
		Hint: "see who owns it, and whether its disk has space; then move back again",
	}
}
