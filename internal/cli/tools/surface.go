package tools

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/chart"
	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// reader is the model or the client for which the tools are planned.
type reader struct {
	*command.Env
	agent, mode, client string
	window              int
	mcp                 bool
}

func (r *reader) bind(c *cobra.Command) {
	c.Flags().StringVar(&r.agent, "agent", "", "plan for `AGENT` (default the app's entry_agent)")
	c.Flags().StringVar(&r.mode, "mode", "",
		"force a `MODE`: direct, compact_direct or discovery (default as the app says, else by the budget)")
	c.Flags().IntVar(&r.window, "window", 0, "plan for a context window of `N` tokens (default that of the agent's model)")
	c.Flags().StringVar(&r.client, "client", "",
		"plan for the MCP client `NAME`, such as claude-code, and not for an agent")
	c.Flags().BoolVar(&r.mcp, "mcp", false, "plan for any MCP client, and not for an agent")
	c.MarkFlagsMutuallyExclusive("agent", "client")
	c.MarkFlagsMutuallyExclusive("agent", "mcp")
}

// plan asks the kernel how the reader is shown the tools: as run shows them to
// an agent's model, or as mcp shows them to a client.
func (r *reader) plan(ctx context.Context, args []string) (made *protocol.AgentSurface, err error) {
	if len(args) == 1 {
		r.AppFile = args[0]
	}
	if r.mcp || r.client != "" {
		return r.forClient(ctx)
	}
	request := protocol.PlanRequest{
		Agent: r.agent, WorkspaceNamed: r.Workspace != "", Mode: r.mode, Window: r.window,
	}
	if request.Workspace, err = r.WorkspaceDir(); err != nil {
		return nil, err
	}
	if request.AppFile, err = r.AppPath(); err != nil {
		return nil, err
	}
	err = r.With(ctx, func(k *command.Kernel) error {
		made, err = k.Plan(ctx, request)
		return err
	})
	if err == nil && !r.JSON {
		for _, w := range made.Warnings {
			r.Status("callgate: %s", w)
		}
	}
	return made, err
}

// forClient asks how an MCP client is shown the tools.
func (r *reader) forClient(ctx context.Context) (*protocol.AgentSurface, error) {
	q := url.Values{"mcp": {"yes"}}
	if r.mode != "" {
		q.Set("mode", r.mode)
	}
	if r.client != "" {
		q.Set("client", r.client)
	}
	if r.window != 0 {
		q.Set("window", fmt.Sprint(r.window))
	}
	made := &protocol.AgentSurface{}
	err := r.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		found, err := s.Surface(ctx, q)
		if err == nil {
			made.Surface = *found
		}
		return err
	})
	return made, err
}

// plan is plan, and app plan.
type plan struct {
	reader
	picture string
}

// Plan returns the command that explains how a model is shown the tools.
func Plan(e *command.Env) *cobra.Command {
	p := &plan{reader: reader{Env: e}}
	c := e.Leaf(&cobra.Command{
		Use: "plan [APP.yaml]", Short: "Explain how a model is shown the tools, and what that costs",
		Long: `Explain how the model of an agent is shown the tools, as callgate run shows them to
it, what that costs, and what would change it. With --mcp or --client: how an MCP
client is shown them.`,
		Example: "  callgate plan\n  callgate plan app.yaml --agent reviewer\n" +
			"  callgate plan --window 32000 --svg plan.svg\n" +
			"  callgate plan --client claude-code",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, p.run)
	p.bind(c)
	c.Flags().StringVar(&p.picture, "svg", "", "also draw the picture into `FILE`")
	return c
}

func (p *plan) run(ctx context.Context, args []string) error {
	made, err := p.plan(ctx, args)
	if err != nil {
		return err
	}
	if p.picture != "" {
		if err := draw(p.Path(p.picture), &made.Surface); err != nil {
			return err
		}
	}
	switch {
	case p.JSON && made.Agent == "":
		return p.WriteJSON(made.Surface)
	case p.JSON:
		return p.WriteJSON(made)
	}
	return command.WriteError(p.show(made))
}

func (p *plan) show(made *protocol.AgentSurface) error {
	if made.Agent != "" {
		if _, err := fmt.Fprintf(p.Stdout, "%-10s %s, %s\n", "agent", made.Agent, modelOf(made)); err != nil {
			return err
		}
		if way := toolsOf(made); way != "" {
			if _, err := fmt.Fprintf(p.Stdout, "%-10s %s\n", "tools", way); err != nil {
				return err
			}
		}
	}
	if err := chart.Table(p.Stdout, &made.Surface); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.Stdout); err != nil {
		return err
	}
	width := p.Style(p.Stdout).Width
	if width == 0 {
		width = 80
	}
	bars := chart.Bars
	if p.Getenv("TERM") == "dumb" {
		bars = chart.ASCIIBars
	}
	return bars(p.Stdout, &made.Surface, width)
}

// modelOf names the model of an agent.
func modelOf(made *protocol.AgentSurface) string {
	name := made.Provider + "/" + made.Model
	if made.Offline {
		name = "the offline model"
	}
	return text.OneLine(name)
}

// toolsOf says how the model of an agent gets the tools, and why; "" where that needs no
// words.
func toolsOf(made *protocol.AgentSurface) string {
	way := "written into its prompt"
	switch {
	case made.Offline:
		return ""
	case made.Native:
		way = "given by its API"
	}
	if made.ToolsWhy != "" {
		way += ": " + made.ToolsWhy
	}
	return text.OneLine(way)
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
type surface struct{ reader }

func newSurface(e *command.Env) *cobra.Command {
	s := &surface{reader{Env: e}}
	c := e.Leaf(&cobra.Command{
		Use: "surface [APP.yaml]", Short: "Print the tools as a model is given them",
		Long: `Print the tool array that the model of an agent is given, as callgate run gives it.
With --mcp or --client: the tool list of an MCP client.`,
		Example: "  callgate surface\n  callgate surface --client claude-code",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, s.run)
	s.bind(c)
	return c
}

func (s *surface) run(ctx context.Context, args []string) error {
	made, err := s.plan(ctx, args)
	if err != nil {
		return err
	}
	where := ""
	if made.Agent != "" && !made.Native {
		where = ", " + toolsOf(made)
	}
	s.Status("%s: %s, %d tokens of a budget of %d%s",
		made.Mode, amount.Of(len(made.Shown), "tool"), made.ShownTokens, made.Budget, where)
	return s.WriteJSON(made.Shown)
}
