// Package git is the module of version control: the state of a repository, its
// history and its branches; adding, committing, switching, stashing and
// restoring; and fetching and pushing.
//
// # Packages
//
// A repository is not trusted. Package repo runs Git on one without running any
// program of the repository's own. Packages porcelain and gitconfig parse what
// Git and repositories write. This package has the tools for the working tree,
// package history those that read commits and differences, and package network
// those that leave the machine. Package gittool is what all tools share.
//
// # What is never lost
//
// A tool that could lose work (checkout, deleting a branch, dropping a stash,
// amending a commit that others have) refuses to, unless the call says force
// and the app file allows that. git.restore is for discarding changes; that is
// why its risk is high.
//
// # Locks
//
// A tool that reads holds repo:{repo} in S, a tool that writes in X. A tool that
// changes files of the workspace holds the workspace in U, too. A call names a
// repository by the folder of its working tree and by no folder inside it, so
// that one repository has one name.
package git

import (
	"context"
	"slices"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/history"
	"callgate/internal/module/git/network"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// Module returns the module for the kernel.
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
	definitions := slices.Concat(
		[]module.Definition{statusTool(g)},
		history.Tools(g),
		[]module.Definition{
			branchesTool(g), addTool(g), commitTool(g), checkoutTool(g), stashTool(g), restoreTool(g),
		},
		network.Tools(g),
	)
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Tags = append([]string{"git", "repository", "version control", "dépôt", "gestion de versions"}, d.Tags...)
		all[i] = d.Tool(gittool.Namespace)
	}
	return all
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
