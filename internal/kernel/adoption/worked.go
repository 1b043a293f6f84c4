package adoption

import (
	"context"
	"strings"

	"callgate/internal/task"
)

// WorkedIn reports whether a task of the node waits, or runs, that works in a folder or below it. While that cannot be
// known, it does.
func WorkedIn(store task.Store) func(ctx context.Context, folder string) bool {
	return func(ctx context.Context, folder string) bool {
		for q := (task.Query{Active: true}); ; {
			list, err := store.List(ctx, q)
			if err != nil || len(list) == 0 {
				return err != nil
			}
			for _, t := range list {
				if rest, in := strings.CutPrefix(t.Asker.Workspace, folder); in && (rest == "" || rest[0] == '/') {
					return true
				}
				q.After = t.ID
			}
		}
	}
}
