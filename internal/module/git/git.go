// Package git is the module of version control: the state of a repository, its
// history and its branches; adding, committing, switching, stashing and
// restoring; and, where an app file grants the network, fetching and pushing.
//
// # Trust
//
// A repository is a stranger's folder. Room repo says how Git is run on one
// without running anything that the repository brings; this package decides
// what is asked of Git, and what of its answers a model is told. Rooms
// porcelain and gitconfig read what Git and repositories write, room network
// has the verbs that leave the machine, and room task what all tools share.
//
// # What is never lost
//
// A tool that could throw work away (checkout, a branch that is deleted, a
// stash that is dropped, an amended commit that others have) refuses to, unless
// the call says force and the app file allows that. git.restore is for throwing
// changes away; that is why its risk is high.
//
// # Locks
//
// repo:{repo} in S to read and in X to change; the workspace in U, too, for what
// changes its files. A call names a repository by the folder of its working
// tree and by no folder inside it, so that one repository has one name.
package git

import (
	"context"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/network"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// Module is the module as the kernel opens it.
func Module() module.Module {
	return module.Module{
		Name:       gittool.Namespace,
		Summary:    "Git repositories: state, history, blame, branches, commits, stashes; fetch and push where granted",
		Settings:   func() any { return gittool.Defaults() },
		Credential: true,
		Open: func(h module.Host) (*module.Instance, error) {
			g := &repo.Runner{Hidden: h.Hidden, Helpers: h.Helpers}
			return &module.Instance{Tools: tools(g), Close: g.Close}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func tools(g *repo.Runner) []*tool.Tool {
	definitions := []gittool.Definition{
		statusTool(g), diffTool(g), logTool(g), showTool(g), blameTool(g), branchesTool(g),
		addTool(g), commitTool(g), checkoutTool(g), stashTool(g), restoreTool(g),
	}
	definitions = append(definitions, network.Tools(g)...)
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		all[i] = d.Tool()
	}
	return all
}

// call is one call of a tool of this package.
type call struct{ *gittool.Call }

func handler[In interface{ Folder() string }](g *repo.Runner, name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	return gittool.Handler(g, name, func(ctx context.Context, c *gittool.Call, in In) (*tool.Result, error) { return run(ctx, &call{c}, in) })
}
