package kernel

import (
	"context"

	"callgate/internal/secret"
	"callgate/internal/statedir"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/unread"
	"callgate/internal/tempdir"
	"callgate/tool"
)

// # A kernel that only reads
//
// A kernel that ends with its command also starts where another refuses to: in a
// directory that cannot be written, beside a database that cannot be opened, and with
// a human's key that others may have read. It then writes nothing, runs no call and
// grants no authority, and says why; what can be read is read. A kernel that stays
// would keep all its clients from the repair, so it does not start.

// hold takes the state directory.
func hold(dir statedir.Dir, cfg Config) (*statedir.Held, error) {
	held, err := dir.Hold()
	if err != nil && cfg.ShortLived && tool.KindOf(err) == tool.Unavailable {
		if reading := dir.HoldReading(err); reading != nil {
			return reading, nil
		}
	}
	return held, err
}

// openDatabase opens the database and the human's key, and finds out why nothing may be written, if that is so.
func (k *Kernel) openDatabase(ctx context.Context, cfg Config) (err error) {
	readOnly := k.state.ReadOnly()
	if readOnly == nil {
		// First of all, so that a directory of a newer Callgate is left as it was.
		k.database, err = openStorage(ctx, cfg.Storage, k.state.Dir)
	} else {
		k.held = readOnly
		k.database, err = openReading(ctx, k.state.Dir)
	}
	if err != nil {
		if !cfg.ShortLived || cfg.Storage != "" {
			return err
		}
		if k.held == nil {
			k.held = err
		}
		empty, failed := sqlite.OpenEmpty(ctx, k.state.Database())
		if failed != nil {
			return err
		}
		k.database = unread.New(empty, err)
	}
	if k.held != nil {
		k.key, _ = k.state.ReadHumanKey() // it makes none
		return nil
	}
	k.key, err = k.state.HumanKey()
	if err != nil && cfg.ShortLived {
		k.held, err = err, nil
	}
	return err
}

// openVault opens the secrets. A kernel that only reads does without a store that cannot be used.
func (k *Kernel) openVault(cfg Config) (err error) {
	if k.vault, err = secret.Open(k.state.Secrets()); err == nil || !cfg.ShortLived {
		return err
	}
	if k.held == nil {
		k.held = err
	}
	k.vault = secret.Unusable(err)
	return nil
}

// openReading opens a database that cannot be written.
func openReading(ctx context.Context, dir statedir.Dir) (*sqlite.DB, error) {
	return sqlite.OpenReading(ctx, dir.Database())
}

// holdStores has the stores refuse what the journal would refuse to record, so that
// nothing changes that cannot be put on record.
func (k *Kernel) holdStores() {
	if d, ok := k.database.(interface{ Hold(func() error) }); ok {
		d.Hold(k.Journal.Held)
	}
}

// unreadCause says why the database of a kernel that only reads cannot be read; nil: it can.
func unreadCause(d storage.Driver) error {
	if u, ok := d.(*unread.Driver); ok {
		return u.Problem()
	}
	return nil
}

// sweep removes the temporary folders of processes that were killed.
func (k *Kernel) sweep() { k.background.Go(func(context.Context) { tempdir.Sweep() }) }

// opened says that everything that is read to open a kernel was read.
func (k *Kernel) opened() {
	if d, ok := k.database.(*unread.Driver); ok {
		d.Opened()
	}
}
