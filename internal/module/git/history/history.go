// Package history has the tools of the git module that read commits and
// differences: log, show, blame and diff.
package history

import (
	"context"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// Tools are the tools of this package.
func Tools(g *repo.Runner) []module.Definition {
	return []module.Definition{diffTool(g), logTool(g), showTool(g), blameTool(g)}
}

// call is one call of a tool of this package.
type call struct{ *gittool.Call }

// handlerFunc serves a call with decoded arguments.
type handlerFunc[In gittool.Args] func(context.Context, *call, In) (*tool.Result, error)

func handler[In gittool.Args](g *repo.Runner, name string, run handlerFunc[In]) tool.Handler {
	return gittool.Handler(g, name, func(ctx context.Context, c *gittool.Call, in In) (*tool.Result, error) {
		return run(ctx, &call{c}, in)
	})
}
