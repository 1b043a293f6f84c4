package wholefile

import (
	"context"

	"golang.org/x/sync/semaphore"

	"callgate/internal/module/workfile"
)

// memoryBudget is the memory that the calls of a process take together for the files they
// hold. One call that needs more than all of it waits until it is alone.
const memoryBudget = 512 << 20

var memory = semaphore.NewWeighted(memoryBudget)

// Reserve waits until a call may take size bytes of memory for files. The caller calls
// release when it has let go of them. A call reserves once, before it reads: one that
// waited for more while it holds some could wait forever.
func Reserve(ctx context.Context, w workfile.Workspace, size int64) (release func(), err error) {
	size = max(0, min(size, memoryBudget))
	if err := memory.Acquire(ctx, size); err != nil {
		return nil, w.Fail("", err)
	}
	return func() { memory.Release(size) }, nil
}
