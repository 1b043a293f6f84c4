package filesystem

import (
	"context"

	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// tracked is handler for a tool that reads or changes files, and heeds what its
// conversation has seen of them.
func tracked[In any](
	name string, files *seen.Files,
	run func(context.Context, workfile.Workspace, seen.Workspace, In) (*tool.Result, error),
) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		return handler(name, func(ctx context.Context, w workfile.Workspace, in In) (*tool.Result, error) {
			return run(ctx, w, files.View(call.Principal).In(w), in)
		}).Execute(ctx, call, grant)
	})
}
