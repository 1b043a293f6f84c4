package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// docs is tools docs.
type docs struct{ *command.Env }

func newDocs(e *command.Env) *cobra.Command {
	d := &docs{e}
	return e.Leaf(&cobra.Command{
		Use: "docs [NAME…]", Short: "Write the manual of the tools here, as Markdown",
		Long: `Write the manual of the tools that the app file in force gives, or of some modules and
tools, as Markdown: settings, parameters, risks, what a call claims, and other names.
Tools of MCP servers and APIs are in it. callgate help tool-reference has the manual
of all modules that come with the program.`,
		Example: "  callgate tools docs > TOOLS.md\n  callgate tools docs filesystem shell.bash",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return completion{e}.name(cmd, nil, word)
		},
	}, d.run)
}

func (d *docs) run(ctx context.Context, args []string) error {
	return d.Session(ctx, command.SessionOptions{}, func(k *command.Kernel, s *client.Session) error {
		var schema bytes.Buffer
		if err := k.AppSchema(ctx, &schema); err != nil {
			return err
		}
		tools, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		chapters, err := d.chapters(ctx, s, tools, args)
		if err != nil {
			return err
		}
		for i := range chapters {
			if err := addSettings(&chapters[i], schema.Bytes()); err != nil {
				return err
			}
		}
		if d.JSON {
			return d.WriteJSON(chapters)
		}
		return command.WriteError(render.Manual(d.Stdout, chapters))
	})
}

// chapters gets the tools that are asked for, whole, by module.
func (d *docs) chapters(
	ctx context.Context, s *client.Session, tools []protocol.Tool, names []string,
) ([]render.Chapter, error) {
	byModule := map[string][]protocol.Tool{}
	found := map[string]bool{}
	for _, t := range tools {
		asked := len(names) == 0
		for _, name := range names {
			if name == t.ID.Namespace || name == t.Name || name == t.Short {
				asked, found[name] = true, true
			}
		}
		if !asked {
			continue
		}
		whole, err := s.Tool(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		byModule[t.ID.Namespace] = append(byModule[t.ID.Namespace], whole)
	}
	for _, name := range names {
		if !found[name] {
			return nil, tool.Errorf("cli", tool.NotFound, "there is no module and no tool %q here", tool.Truncate(name)).
				WithHint("callgate tools list has what is here; a module that is off is on once an app file names it")
		}
	}
	var all []render.Chapter
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		all = append(all, render.Chapter{Module: module, Tools: byModule[module]})
	}
	return all, nil
}

// addSettings adds what the schema of app files says of a module.
func addSettings(c *render.Chapter, schema []byte) error {
	type keys struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	var file struct {
		Properties struct {
			Tools struct {
				Properties struct {
					Modules struct {
						Properties map[string]struct {
							Properties struct{ Config, Constraints keys } `json:"properties"`
						} `json:"properties"`
					} `json:"modules"`
				} `json:"properties"`
			} `json:"tools"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &file); err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Internal, Message: "the schema of app files cannot be read", Err: err}
	}
	module := file.Properties.Tools.Properties.Modules.Properties[c.Module].Properties
	settings := func(from keys) (all []render.Setting) {
		for _, key := range slices.Sorted(maps.Keys(from.Properties)) {
			all = append(all, render.Setting{Key: key, About: strings.TrimSpace(from.Properties[key].Description)})
		}
		return all
	}
	c.Settings, c.Constraints = settings(module.Config), settings(module.Constraints)
	return nil
}
