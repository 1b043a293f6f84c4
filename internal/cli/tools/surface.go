package tools

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/cli/chart"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// reader is how a reader wants to be shown the tools.
type reader struct {
	mode, client string
	window       int
	mcp          bool
}

func (r *reader) bind(c *cobra.Command) {
	c.Flags().StringVar(&r.mode, "mode", "", "direct, compact_direct or discovery (default as the app says, else by the budget)")
	c.Flags().IntVar(&r.window, "window", 0, "the model's context in tokens")
	c.Flags().StringVar(&r.client, "client", "", "the name of an MCP client, whose window is taken")
	c.Flags().BoolVar(&r.mcp, "mcp", false, "as an MCP client is shown them: never more than the tools themselves would cost")
}

func (r *reader) query() url.Values {
	q := url.Values{}
	if r.mode != "" {
		q.Set("mode", r.mode)
	}
	if r.client != "" {
		q.Set("client", r.client)
	}
	if r.window != 0 {
		q.Set("window", fmt.Sprint(r.window))
	}
	if r.mcp || r.client != "" {
		q.Set("mcp", "yes")
	}
	return q
}

// plan is plan, and app plan.
type plan struct {
	*command.Env
	reader
	picture string
}

// Plan returns the command that explains how a model is shown the tools.
func Plan(e *command.Env) *cobra.Command {
	p := &plan{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "plan", Short: "Show how the tools are shown to a model, what that costs, and why",
		Example: "  callgate plan\n  callgate plan --window 32000 --svg plan.svg", Args: cobra.NoArgs,
	}, p.run)
	p.bind(c)
	c.Flags().StringVar(&p.picture, "svg", "", "also draw the picture into this file")
	return c
}

func (p *plan) run(ctx context.Context, _ []string) error {
	return p.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		made, err := s.Surface(ctx, p.query())
		if err != nil {
			return err
		}
		return p.show(made)
	})
}

func (p *plan) show(made *protocol.Surface) error {
	if p.picture != "" {
		if err := draw(p.picture, made); err != nil {
			return err
		}
	}
	if p.JSON {
		return p.WriteJSON(made)
	}
	if err := chart.Table(p.Stdout, made); err != nil {
		return command.WriteError(err)
	}
	if _, err := fmt.Fprintln(p.Stdout); err != nil {
		return command.WriteError(err)
	}
	width := p.Style(p.Stdout).Width
	if width == 0 {
		width = 80
	}
	return command.WriteError(chart.Bars(p.Stdout, made, width))
}

func draw(path string, made *protocol.Surface) error {
	out, err := os.Create(path)
	if err == nil {
		err = chart.SVG(out, made)
		if closed := out.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Failed, Err: err,
			Message: "the picture cannot be drawn into " + tool.Truncate(path)}
	}
	return nil
}

// surface is surface.
type surface struct {
	*command.Env
	reader
}

func newSurface(e *command.Env) *cobra.Command {
	s := &surface{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "surface", Short: "Print exactly the tools that a model is given, with their tokens",
		Example: "  callgate surface --mode discovery\n  callgate surface --client claude-code", Args: cobra.NoArgs,
	}, s.run)
	s.bind(c)
	return c
}

func (s *surface) run(ctx context.Context, _ []string) error {
	return s.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, session *client.Session) error {
		made, err := session.Surface(ctx, s.query())
		if err != nil {
			return err
		}
		s.Status("%s: %d tools, %d tokens of a budget of %d", made.Mode, len(made.Shown), made.ShownTokens, made.Budget)
		return s.WriteJSON(made.Shown)
	})
}
