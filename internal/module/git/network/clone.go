package network

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed clone.md
var cloneDoc string

const cloneInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The https address of the repository."},
    "path": {
      "type": "string", "minLength": 1,
      "description": "The new folder, relative to the workspace. Default: the repository's name."
    },
    "branch": {
      "type": "string", "minLength": 1, "description": "The branch or tag to check out. Default: the remote's own."
    },
    "depth": {"type": "integer", "minimum": 1, "description": "Bring only so many commits."}
  },
  "required": ["url"],
  "additionalProperties": false
}`

const cloneOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The new folder, relative to the workspace."},
    "branch": {"type": "string"},
    "commit": {"type": "string"}
  },
  "required": ["path"]
}`

func cloneTool(g *repo.Runner) module.Definition {
	r := gittool.NetworkRuntime(true)
	r.Effects = []tool.Effect{{Resource: "repo:{path}", Mode: tool.X}, {Resource: "workspace", Mode: tool.U}}
	return module.Definition{
		Name: "clone", Doc: cloneDoc, Input: cloneInput, Output: cloneOutput,
		Examples: []tool.Example{
			module.Example("the latest state alone", `{"url": "https://example.com/team/project.git", "depth": 1}`),
			module.Example("into a folder",
				`{"url": "https://example.com/team/project.git", "path": "vendor/project", "branch": "v2"}`),
		},
		Aliases: []string{
			"git_clone", "git clone", "clone a repository", "download a repository", "checkout a project",
			"get the source code",
			"cloner un dépôt", "télécharger un dépôt",
		},
		Tags:    []string{"clone", "download", "remote", "network", "cloner"},
		Runtime: r,
		Handler: gittool.HandlerWithoutRepo("clone", cloner(g)),
	}
}

type cloneArgs struct {
	URL    string `json:"url"`
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Depth  int    `json:"depth"`
}

type cloneData struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// cloner returns the function that serves calls of clone. It opens the
// repository once there is one.
func cloner(g *repo.Runner) gittool.Func[cloneArgs] {
	return func(ctx context.Context, c *gittool.Call, in cloneArgs) (*tool.Result, error) {
		return clone(ctx, g, &call{c}, in)
	}
}

func clone(ctx context.Context, g *repo.Runner, c *call, in cloneArgs) (*tool.Result, error) {
	ctx, cancel := gittool.WithTimeout(ctx, c.Settings.NetworkTimeout)
	defer cancel()
	if err := c.checkNetwork(); err != nil {
		return nil, err
	}
	if in.Branch != "" {
		if _, err := repo.BranchName(c.Op, in.Branch); err != nil {
			return nil, err
		}
	}
	r, err := c.openRemote("", in.URL)
	if err != nil {
		return nil, err
	}
	defer r.close()
	rel, err := c.newFolder(cmp.Or(in.Path, nameOf(r.url)))
	if err != nil {
		return nil, err
	}
	if err := c.cloneInto(ctx, g, r, in, rel); err != nil {
		_ = c.Grant.Root.RemoveAll(rel) // this call made it
		return nil, err
	}
	if c.Repository, err = g.Open(c.Op, c.Grant, rel); err != nil {
		return nil, err
	}
	d := cloneData{Path: c.Shown, Branch: porcelain.Text(c.Branch())}
	d.Commit, err = c.Resolve(ctx, "HEAD")
	if err != nil {
		return gittool.TextResult("cloned into "+d.Path+"; the repository is empty", d, "")
	}
	c.WarnFilters()
	return gittool.TextResult(fmt.Sprintf("cloned into %s, at %s", d.Path, porcelain.ShortID(d.Commit)), d, "")
}

// nameOf returns the name of a repository in its address.
func nameOf(u *url.URL) string {
	name := strings.TrimSuffix(path.Base(strings.TrimSuffix(u.Path, "/")), ".git")
	if name == "" || name == "." || name == "/" || strings.HasPrefix(name, ".") {
		return "repository"
	}
	return name
}

// newFolder makes the folder of the clone, which must not exist.
func (c *call) newFolder(name string) (string, error) {
	if c.Grant.Root == nil || c.Grant.Workspace == "" {
		return "", tool.Errorf(c.Op, tool.Denied, "this session has no workspace to clone into").
			WithHint("start the session in a folder")
	}
	rel := filepath.FromSlash(name)
	if filepath.IsAbs(rel) {
		if r, err := filepath.Rel(c.Grant.Workspace, rel); err == nil {
			rel = r
		}
	}
	rel = filepath.Clean(rel)
	if !filepath.IsLocal(rel) || rel == "." {
		return "", tool.Errorf(c.Op, tool.Denied, "%q is not a new folder inside the workspace", tool.Truncate(name)).
			WithHint("give path a name relative to the workspace")
	}
	err := c.Grant.Root.MkdirAll(filepath.Dir(rel), 0o777)
	if err == nil {
		err = c.Grant.Root.Mkdir(rel, 0o777)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", tool.Errorf(c.Op, tool.Conflict, "%q exists already", filepath.ToSlash(rel)).
			WithHint("give another path")
	case err != nil:
		return "", tool.Errorf(c.Op, tool.Failed, "the folder %q cannot be made: %w", filepath.ToSlash(rel), err)
	}
	return rel, nil
}

// cloneInto runs git clone, which can write only the new folder.
func (c *call) cloneInto(ctx context.Context, g *repo.Runner, r *remote, in cloneArgs, rel string) error {
	program, err := repo.Program(c.Op, c.Grant.Workspace)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(c.Grant.Workspace, rel))
	if err != nil {
		return tool.Errorf(c.Op, tool.Failed, "the new folder cannot be found: %w", err)
	}
	args := []string{"clone", "--quiet", "--no-progress", "--no-recurse-submodules", "--template=", "--origin=origin"}
	if in.Branch != "" {
		args = append(args, "--branch="+in.Branch)
	}
	if in.Depth > 0 {
		args = append(args, "--depth="+strconv.Itoa(in.Depth))
	}
	s := repo.Spec(program, append(args, "--", r.url.String(), target), c.Grant)
	s.Helpers = g.Helpers
	s.Env, s.Writable, s.Hidden, s.Network = repo.Environ(&r.route), []string{target}, g.Hidden, true
	out, err := repo.Start(ctx, c.Op, s, 0)
	if err != nil {
		return err
	}
	if out.Code != 0 {
		return r.failure(c.Op, out, nil)
	}
	return nil
}
