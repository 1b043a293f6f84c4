package kernel

import (
	"cmp"
	"context"

	"callgate/internal/kernel/node"
	"callgate/internal/secret"
	"callgate/internal/statedir"
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
	k.database, k.held, err = node.Open(ctx, node.Options{
		Place: cfg.Storage, State: k.state, ShortLived: cfg.ShortLived, Log: k.log, Timing: cfg.Node,
	})
	if err != nil {
		return err
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
	k.vault, err = secret.Open(k.state.Secrets())
	if err != nil && !cfg.ShortLived {
		return err
	}
	if err != nil {
		k.held = cmp.Or(k.held, err)
		k.vault = secret.Unusable(err)
	}
	k.vault.Know(node.Variable, k.database.Secret())
	return nil
}

// sweep removes the temporary folders of processes that were killed.
func (k *Kernel) sweep() { k.background.Go(func(context.Context) { tempdir.Sweep() }) }
