package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/app/edit"
	"callgate/internal/client"
	"callgate/internal/durable"
	"callgate/tool"
)

// addFlags are the settings of a server that is added.
type addFlags struct {
	url, transport, dir string
	protocol            string
	env, header         []string
	envAllow            []string
	replace, yes        bool
}

func (p *program) addCommand() *cobra.Command {
	var f addFlags
	c := p.leaf("add NAME [-- COMMAND ARGS ...]", "Put an MCP server into the app file, and look at it", `  callgate mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  callgate mcp add hub --env TOKEN='{{secret.hub_token}}' -- hub-server
  callgate mcp add wiki --url https://example.com/mcp --header 'Authorization=Bearer {{secret.wiki}}'`,
		cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error { return p.addServer(ctx, args, f) })
	fl := c.Flags()
	fl.StringVar(&f.url, "url", "", "of a remote server")
	fl.StringVar(&f.transport, "transport", "", "of a remote server: http or sse (default: what it speaks)")
	fl.StringVar(&f.protocol, "protocol", "", "version of MCP to speak to it in, such as 2025-11-25 (default: the newest that it knows)")
	fl.StringVar(&f.dir, "dir", "", "folder to run it in")
	fl.StringArrayVar(&f.env, "env", nil, "NAME=VALUE for its environment; may be given several times")
	fl.StringArrayVar(&f.header, "header", nil, "NAME=VALUE for its requests; may be given several times")
	fl.StringSliceVar(&f.envAllow, "env-allow", nil, "variables of the kernel's environment that it is given")
	fl.BoolVar(&f.replace, "replace", false, "in the place of the server of this name")
	fl.BoolVar(&f.yes, "yes", false, "do not ask before it is run")
	return c
}

func (p *program) removeCommand() *cobra.Command {
	return p.leaf("remove NAME", "Take an MCP server out of the app file", "  callgate mcp remove files", cobra.ExactArgs(1), func(_ context.Context, args []string) error {
		path, text, err := p.readApp()
		if err != nil {
			return err
		}
		next, err := edit.RemoveServer(text, args[0])
		if err != nil {
			return err
		}
		if err := replaceFile(path, next); err != nil {
			return err
		}
		p.status("took %s out of %s", args[0], path)
		return nil
	})
}

// addServer writes a server into the app file. What a person adds by hand they
// want to run, so it is accepted then and there, and asked for its tools.
func (p *program) addServer(ctx context.Context, args []string, f addFlags) error {
	s := app.Server{Name: args[0], URL: f.url, Transport: f.transport, Protocol: f.protocol, Dir: f.dir, EnvAllow: f.envAllow}
	if len(args) > 1 {
		s.Command, s.Args = args[1], args[2:]
	}
	if (s.Command == "") == (s.URL == "") {
		return tool.Errorf("cli", tool.Invalid, "a server has either a command or a url").WithHint("write callgate mcp add %s -- COMMAND, or --url", args[0])
	}
	var err error
	if s.Env, err = pairs("--env", f.env); err != nil {
		return err
	}
	if s.Headers, err = pairs("--header", f.header); err != nil {
		return err
	}
	path, text, err := p.readApp()
	if err != nil {
		return err
	}
	var next []byte
	if f.replace {
		next, err = edit.ReplaceServer(text, s)
	} else {
		var modules []string
		if modules, err = p.builtinModules(ctx); err == nil {
			next, err = edit.AddServer(text, s, modules)
		}
	}
	if err != nil {
		return err
	}
	if err := replaceFile(path, next); err != nil {
		return err
	}
	p.status("wrote %s into %s", s.Name, path)
	p.appFile = path
	return p.trust(ctx, s.Name, trustFlags{yes: f.yes})
}

// builtinModules are the modules that are on where an app file names none.
func (p *program) builtinModules(ctx context.Context) (names []string, err error) {
	return names, p.with(ctx, false, func(k *kernel) error {
		status, err := k.Status(ctx)
		names = status.Modules
		return err
	})
}

// readApp reads the app file that is named, or the workspace's own; one that
// is not there yet is empty.
func (p *program) readApp() (path string, text []byte, err error) {
	if path, err = p.file(); err != nil {
		return "", nil, err
	}
	if path == "" {
		folder, err := p.folder()
		if err != nil {
			return "", nil, err
		}
		path = filepath.Join(folder, app.Filename)
	}
	text, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err != nil {
		return "", nil, &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the app file cannot be read", Err: err}
	}
	return path, text, nil
}

// replaceFile puts new text in the place of a file, whole or not at all.
func replaceFile(path string, text []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := durable.Write(path, text, mode); err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Failed, Message: path + " cannot be written; it is as it was", Err: err}
	}
	return nil
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

var _ = (*client.Session)(nil)
