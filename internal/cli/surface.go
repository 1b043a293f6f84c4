package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// surfaceFlags are how somebody wants to be shown the tools.
type surfaceFlags struct {
	mode, client, picture string
	window                int
	mcp                   bool
}

func (f *surfaceFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.mode, "mode", "", "direct, compact_direct or discovery (default as the app says, else by the budget)")
	c.Flags().IntVar(&f.window, "window", 0, "the model's context in tokens")
	c.Flags().StringVar(&f.client, "client", "", "the name of an MCP client, whose window is taken")
	c.Flags().BoolVar(&f.mcp, "mcp", false, "as an MCP client is shown them: never more than the tools themselves would cost")
}

func (f *surfaceFlags) query() url.Values {
	q := url.Values{}
	if f.mode != "" {
		q.Set("mode", f.mode)
	}
	if f.client != "" {
		q.Set("client", f.client)
	}
	if f.window != 0 {
		q.Set("window", fmt.Sprint(f.window))
	}
	if f.mcp || f.client != "" {
		q.Set("mcp", "yes")
	}
	return q
}

func (p *program) planCommand() *cobra.Command {
	var f surfaceFlags
	c := p.leaf("plan", "Show how the tools are shown to a model, what that costs, and why", "  callgate plan\n  callgate plan --window 32000 --svg plan.svg",
		cobra.NoArgs, func(ctx context.Context, _ []string) error {
			return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
				plan, err := s.Surface(ctx, f.query())
				if err != nil {
					return err
				}
				return p.showPlan(plan, f.picture)
			})
		})
	f.bind(c)
	c.Flags().StringVar(&f.picture, "svg", "", "also draw the picture into this file")
	return c
}

func (p *program) showPlan(plan *protocol.Surface, picture string) error {
	if picture != "" {
		out, err := os.Create(picture)
		if err == nil {
			err = render.SurfaceSVG(out, plan)
			if closed := out.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			return &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the picture cannot be drawn into " + tool.Truncate(picture), Err: err}
		}
	}
	if p.json {
		return p.writeJSON(plan)
	}
	if err := render.SurfaceTable(p.Stdout, plan); err != nil {
		return writeError(err)
	}
	if _, err := fmt.Fprintln(p.Stdout); err != nil {
		return writeError(err)
	}
	width := p.style(p.Stdout).Width
	if width == 0 {
		width = 80
	}
	return writeError(render.SurfaceBars(p.Stdout, plan, width))
}

func (p *program) surfaceCommand() *cobra.Command {
	var f surfaceFlags
	c := p.leaf("surface", "Print exactly the tools that a model is given, with their tokens", "  callgate surface --mode discovery\n  callgate surface --client claude-code",
		cobra.NoArgs, func(ctx context.Context, _ []string) error {
			return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
				plan, err := s.Surface(ctx, f.query())
				if err != nil {
					return err
				}
				p.status("%s: %d tools, %d tokens of a budget of %d", plan.Mode, len(plan.Shown), plan.ShownTokens, plan.Budget)
				return p.writeJSON(plan.Shown)
			})
		})
	f.bind(c)
	return c
}

func (p *program) appCommand() *cobra.Command {
	check := p.leaf("check [FILE]", "Read an app file and tell every mistake in it", "  callgate app check\n  callgate app check other.yaml",
		cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				p.appFile = args[0]
			}
			return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
				switch {
				case p.json:
					return p.writeJSON(s.Session)
				case s.AppFile == "":
					p.status("there is no callgate.yaml here; callgate init writes one")
				default:
					p.status("%s is well: app %s", s.AppFile, s.App)
				}
				return nil
			})
		})
	check.ValidArgsFunction = nil // files
	var yes bool
	consent := p.leaf("trust", "Look at what an app file does by itself (setup steps, an embeddings endpoint), and accept it or not", "",
		cobra.NoArgs, func(ctx context.Context, _ []string) error { return p.trustApp(ctx, yes) })
	consent.Flags().BoolVar(&yes, "yes", false, "accept what is shown, without asking")
	var agent string
	prompt := p.leaf("prompt [FILE]", "Print exactly what an agent's model is told, with the tokens of each part", "  callgate app prompt app.yaml --agent reviewer", cobra.MaximumNArgs(1),
		func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				p.appFile = args[0]
			}
			return p.appPrompt(ctx, agent)
		})
	prompt.ValidArgsFunction = nil // files
	prompt.Flags().StringVar(&agent, "agent", "", "the agent (default the app's entry_agent)")
	return p.group("app", "Look at an app file, its agents and its modules", "", check, p.planCommand(), prompt, consent, p.schemaCommand())
}

// schemaCommand prints what may be written: of a module's actions, or of the
// app file itself, which need not be right, or there, for that.
func (p *program) schemaCommand() *cobra.Command {
	var file bool
	args := func(cmd *cobra.Command, args []string) error {
		switch {
		case file:
			return cobra.NoArgs(cmd, args)
		case len(args) == 0:
			return errors.New("name a module, or say --file for the app file itself")
		default:
			return cobra.ExactArgs(1)(cmd, args)
		}
	}
	c := p.leaf("schema MODULE | --file", "Print the actions of a module with their parameters, or the JSON Schema of app files",
		"  callgate app schema filesystem\n  callgate app schema --file > callgate.schema.json", args,
		func(ctx context.Context, args []string) error {
			if !file {
				return p.moduleSchema(ctx, args)
			}
			return p.with(ctx, false, func(k *kernel) error { return k.AppSchema(ctx, p.Stdout) })
		})
	c.Flags().BoolVar(&file, "file", false, "the JSON Schema of app files, for editors")
	return c
}

// trustApp shows what an app file does by itself, and takes a human's yes.
func (p *program) trustApp(ctx context.Context, yes bool) error {
	return p.openSession(ctx, true, false, func(_ *kernel, s *client.Session) error {
		if s.PendingConsent == "" {
			p.status("this app file does nothing by itself that is not accepted")
			return nil
		}
		p.status("This app file would by itself, each time a session opens:\n\n  %s\n", s.PendingConsent)
		if ok, err := p.confirm(yes, "Accept that it may?"); err != nil || !ok {
			return err
		}
		if err := s.Trust(ctx, protocol.AppConsent, protocol.Trust{Launch: s.PendingConsent, By: p.userName()}); err != nil {
			return err
		}
		p.status("accepted")
		return nil
	})
}

// moduleSchema prints a module's actions as JSON.
func (p *program) moduleSchema(ctx context.Context, args []string) error {
	return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
		tools, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		type action struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Risk        tool.Risk       `json:"risk_level"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		var list []action
		var modules []string
		for _, t := range tools {
			if n := len(modules); n == 0 || modules[n-1] != t.ID.Namespace {
				modules = append(modules, t.ID.Namespace)
			}
			if t.ID.Namespace != args[0] {
				continue
			}
			whole, err := s.Tool(ctx, t.ID.Dotted())
			if err != nil {
				return err
			}
			list = append(list, action{t.ID.Name, whole.Description, whole.Risk, whole.Input})
		}
		if len(list) == 0 {
			return tool.Errorf("cli", tool.NotFound, "there is no module %q here", tool.Truncate(args[0])).WithHint("the modules are %v", modules)
		}
		return p.writeJSON(map[string]any{"module": args[0], "actions": list})
	})
}
