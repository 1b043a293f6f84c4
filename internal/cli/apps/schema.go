package apps

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/tool"
)

// schema is app schema: what may be written in a call of a module's action, or
// in an app file. For the latter the app file need not be right, or exist.
type schema struct {
	*command.Env
	file bool
}

func newSchema(e *command.Env) *cobra.Command {
	s := &schema{Env: e}
	c := e.Leaf(&cobra.Command{
		Use:     "schema MODULE | --file",
		Short:   "Print the actions of a module, or the JSON Schema of app files",
		Example: "  callgate app schema filesystem\n  callgate app schema --file > callgate.schema.json",
		Args:    s.args,
	}, s.run)
	c.Flags().BoolVar(&s.file, "file", false, "print the JSON Schema of app files, for editors")
	return c
}

func (s *schema) args(cmd *cobra.Command, args []string) error {
	switch {
	case s.file:
		return cobra.NoArgs(cmd, args)
	case len(args) == 0:
		return errors.New("name a module, or use --file for app files")
	default:
		return cobra.ExactArgs(1)(cmd, args)
	}
}

func (s *schema) run(ctx context.Context, args []string) error {
	if s.file {
		return s.With(ctx, func(k *command.Kernel) error { return k.AppSchema(ctx, s.Stdout) })
	}
	return s.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, session *client.Session) error {
		return s.module(ctx, session, args[0])
	})
}

// action is one action of a module.
type action struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Risk        tool.Risk       `json:"risk_level"`
	Parameters  json.RawMessage `json:"parameters"`
}

// module prints a module's actions as JSON.
func (s *schema) module(ctx context.Context, session *client.Session, name string) error {
	tools, err := session.Tools(ctx)
	if err != nil {
		return err
	}
	var actions []action
	var modules []string
	for _, t := range tools {
		if n := len(modules); n == 0 || modules[n-1] != t.ID.Namespace {
			modules = append(modules, t.ID.Namespace)
		}
		if t.ID.Namespace != name {
			continue
		}
		full, err := session.Tool(ctx, t.ID.Dotted())
		if err != nil {
			return err
		}
		actions = append(actions, action{t.ID.Name, full.Description, full.Risk, full.Input})
	}
	if len(actions) == 0 {
		return tool.Errorf("cli", tool.NotFound, "there is no module %q here", tool.Truncate(name)).
			WithHint("the modules here are %s; one that is off is on once an app file names it under tools.modules, "+
				"and callgate help tool-reference has them all", strings.Join(modules, ", "))
	}
	return s.WriteJSON(map[string]any{"module": name, "actions": actions})
}
