package imports

import (
	"context"
	"fmt"

	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/importer/backup"
	"callgate/internal/protocol"
	"callgate/tool"
)

// undoAll restores every file, the newest change first, and takes the secrets
// that were moved out of the store again.
func (i *imports) undoAll(ctx context.Context) error {
	dir, err := i.backupDir()
	if err != nil {
		return err
	}
	list, err := backup.List(dir)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		i.Status("there is nothing to undo")
	}
	code := 0
	for _, b := range list {
		what := b.Path
		if b.Secret != "" {
			what = "the secret " + b.Secret
			err = i.takeBack(ctx, b)
		} else {
			err = backup.Undo(b, i.force)
		}
		if err != nil {
			i.Status("callgate: %v", err)
			code = command.CodeOf(tool.KindOf(err))
			continue
		}
		if _, err := fmt.Fprintln(i.Stdout, text.Safe(what)); err != nil {
			return command.WriteError(err)
		}
	}
	if code == command.CodeOf(tool.Conflict) {
		i.Status("  to restore what was changed since, too: %s import --undo --force", i.Self())
	}
	return command.Exit(code)
}

// takeBack takes a secret that an import moved out of the store. One that was
// set again since is somebody's, and stays unless forced.
func (i *imports) takeBack(ctx context.Context, b backup.Backup) error {
	return i.WithKey(ctx, func(k *command.Kernel) error {
		kept, err := k.Secrets().List(ctx)
		if err != nil {
			return err
		}
		for _, s := range kept {
			if s.Name != b.Secret || s.Set.IsZero() {
				continue
			}
			if !s.Set.Equal(b.Set) && !i.force {
				return tool.Errorf("cli", tool.Conflict, "the secret %s was set again since it was moved", s.Name)
			}
			if err := k.Secrets().Delete(ctx, s.Name, protocol.DeleteSecret{By: i.UserName()}); err != nil {
				return err
			}
		}
		backup.Forget(b)
		return nil
	})
}
