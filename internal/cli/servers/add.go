package servers

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/cli/appfile"
	"callgate/internal/cli/command"
	"callgate/tool"
)

// add is mcp add.
type add struct {
	*command.Env
	url, transport, dir string
	protocol            string
	env, header         []string
	envAllow            []string
	isolated
	replace, yes, user bool
	inWorkspace        bool
}

func newAdd(e *command.Env) *cobra.Command {
	a := &add{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "add NAME [-- COMMAND ARGS ...]", Short: "Add an MCP server to the app file, and accept it",
		Example: `  callgate mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  callgate mcp add notes --user -- notes-server
  callgate mcp add hub --env TOKEN='{{secret.hub_token}}' -- hub-server
  callgate mcp add wiki --url https://example.com/mcp --header 'Authorization=Bearer {{secret.wiki}}'`,
		Args: cobra.MinimumNArgs(1),
	}, a.run)
	f := c.Flags()
	f.StringVar(&a.url, "url", "", "the `URL` of a remote server")
	f.StringVar(&a.transport, "transport", "", "the `TRANSPORT` of a remote server: http or sse (default: what it speaks)")
	f.StringVar(&a.protocol, "protocol", "",
		"the MCP `VERSION` to use, such as 2025-11-25 (default: the newest that it knows)")
	f.StringVar(&a.dir, "dir", "", "the `FOLDER` that it works for (default: that of the app file)")
	f.BoolVar(&a.inWorkspace, "in-workspace", false, "start it in the folder that it works for, sandboxed")
	f.StringArrayVar(&a.env, "env", nil, "`NAME=VALUE` for its environment; may be repeated")
	f.StringArrayVar(&a.header, "header", nil, "`NAME=VALUE` for its requests; may be repeated")
	f.StringSliceVar(&a.envAllow, "env-allow", nil, "give it these `VARIABLES` of the kernel's environment")
	a.bind(c)
	f.BoolVar(&a.replace, "replace", false, "replace the server of this name")
	f.BoolVar(&a.user, "user", false, "add it to your own app file, so that it is in every folder")
	f.BoolVar(&a.yes, "yes", false, "accept its command without asking")
	return c
}

// run writes a server into the app file. A person who adds a server wants it to
// run, so it is accepted at once, and asked for its tools.
func (a *add) run(ctx context.Context, args []string) error {
	s, err := a.server(args)
	if err != nil {
		return err
	}
	read, write := levelOf(a.user)
	path, text, err := read(a.Env)
	if err != nil {
		return err
	}
	var next []byte
	if a.replace {
		next, err = edit.ReplaceServer(text, s)
	} else if a.user {
		next, err = edit.AddServer(text, s, nil) // it turns no module off by not listing it
	} else {
		var modules []string
		if modules, err = appfile.BuiltinModules(ctx, a.Env); err == nil {
			next, err = edit.AddServer(text, s, modules)
		}
	}
	if err != nil {
		return err
	}
	if err := write(path, next); err != nil {
		return err
	}
	a.Status("added %s to %s", s.Name, path)
	a.explain(a.Env, s)
	if !a.user {
		a.AppFile = path
	}
	return (&trust{Env: a.Env, yes: a.yes}).run(ctx, args[:1])
}

// levelOf is how the project's app file is read and written, or the user's own.
func levelOf(user bool) (
	read func(*command.Env) (string, []byte, error), write func(path string, text []byte) error,
) {
	if user {
		return appfile.ReadUser, appfile.ReplaceUser
	}
	return appfile.Read, appfile.Replace
}

// server is the server that the command line describes.
func (a *add) server(args []string) (app.Server, error) {
	s := app.Server{
		Name: args[0], URL: a.url, Transport: a.transport, Protocol: a.protocol, Dir: a.dir, EnvAllow: a.envAllow,
	}
	if len(args) > 1 {
		s.Command, s.Args = args[1], args[2:]
		s.Isolation = a.of(s.Command)
		if s.InWorkspace = a.inWorkspace; s.InWorkspace {
			s.Isolation.Mode = "sandboxed"
		}
	}
	if (s.Command == "") == (s.URL == "") {
		return s, tool.Errorf("cli", tool.Invalid, "a server has either a command or a url").
			WithHint("write callgate mcp add %s -- COMMAND, or --url", args[0])
	}
	var err error
	if s.Env, err = pairs("--env", a.env); err != nil {
		return s, err
	}
	s.Headers, err = pairs("--header", a.header)
	return s, err
}

// pairs reads NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	var m map[string]string
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, tool.Errorf("cli", tool.Invalid, "%s %q is not NAME=VALUE", flag, tool.Truncate(text))
		}
		if m == nil {
			m = map[string]string{}
		}
		m[name] = value
	}
	return m, nil
}

// remove is mcp remove.
type remove struct {
	*command.Env
	user bool
}

func newRemove(e *command.Env) *cobra.Command {
	r := &remove{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "remove NAME", Short: "Remove an MCP server from the app file",
		Example: "  callgate mcp remove files\n  callgate mcp remove notes --user", Args: cobra.ExactArgs(1),
	}, r.run)
	c.Flags().BoolVar(&r.user, "user", false, "remove it from your own app file")
	return c
}

func (r *remove) run(_ context.Context, args []string) error {
	read, write := levelOf(r.user)
	path, text, err := read(r.Env)
	if err != nil {
		return err
	}
	next, err := edit.RemoveServer(text, args[0])
	if err != nil {
		return err
	}
	if err := write(path, next); err != nil {
		return err
	}
	r.Status("removed %s from %s", args[0], path)
	return nil
}
