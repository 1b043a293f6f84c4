package tools

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/cli/chart"
	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
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
	c.Flags().StringVar(&r.mode, "mode", "",
		"force a `MODE`: direct, compact_direct or discovery (default as the app says, else by the budget)")
	c.Flags().IntVar(&r.window, "window", 0, "plan for a context window of `N` tokens (default that of the agent's model)")
	c.Flags().StringVar(&r.client, "client", "", "plan for the MCP client `NAME`, such as claude-code")
	c.Flags().BoolVar(&r.mcp, "mcp", false, "plan for an MCP client, and not for the app's agent")
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
		Use: "plan", Short: "Explain how a model is shown the tools, and what that costs",
		Example: "  callgate plan\n  callgate plan --window 32000 --svg plan.svg", Args: cobra.NoArgs,
	}, p.run)
	p.bind(c)
	c.Flags().StringVar(&p.picture, "svg", "", "also draw the picture into `FILE`")
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
	bars := chart.Bars
	if p.Getenv("TERM") == "dumb" {
		bars = chart.ASCIIBars
	}
	return command.WriteError(bars(p.Stdout, made, width))
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
		Use: "surface", Short: "Print the tools as a model is given them",
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
		s.Status("%s: %s, %d tokens of a budget of %d",
			made.Mode, text.Count(len(made.Shown), "tool"), made.ShownTokens, made.Budget)
		return s.WriteJSON(made.Shown)
	})
}
