package executable

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"callgate/internal/source/executable/hosttools"
	"callgate/tool"
)

// openHost begins to run tools for a program whose manifest names some. It returns the
// program's end of the connection, nil for none, and what ends it: nothing is run for the
// program after that.
func (h *handler) openHost(ctx context.Context, call tool.Call) (theirs *os.File, end func(), err error) {
	if len(h.manifest.HostTools) == 0 {
		return nil, func() {}, nil
	}
	if h.Host == nil {
		return nil, nil, tool.Errorf(op, tool.Unavailable, "%s has the kernel run tools, and cannot do that here", h.name())
	}
	conn, theirs, err := hosttools.Pair()
	if err != nil {
		return nil, nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: h.name() + " has the kernel run tools, and no connection for that could be made"}
	}
	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() {
		run := func(ctx context.Context, name string, args json.RawMessage) *tool.Result {
			return h.Host(ctx, call, name, args)
		}
		hosttools.Serve(ctx, conn, h.manifest.HostTools, run)
		_ = conn.Close() // a program that goes on asking is not left waiting
	})
	return theirs, sync.OnceFunc(func() {
		cancel()
		_ = theirs.Close()
		_ = conn.Close()
		serving.Wait()
	}), nil
}
