package tools

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// find is tools find.
type find struct {
	*command.Env
	filter protocol.FindTools
}

func newFind(e *command.Env) *cobra.Command {
	f := &find{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "find", Short: "Find tools by namespace, ID, tag, or a model that is good at them",
		Long: `Find tools, every version of them, by what is exactly known: their namespace, the
beginning of their ID, a tag, or a model that was measured to be good at them.`,
		Example: "  callgate tools find --namespace desk\n  callgate tools find --prefix desk:triage@1\n" +
			"  callgate tools find --tag tickets --model openai/gpt-5.4-nano --min-score 90",
		Args: cobra.NoArgs,
	}, f.run)
	flags := c.Flags()
	flags.StringVar(&f.filter.Namespace, "namespace", "", "only tools of this `NAMESPACE`")
	flags.StringVar(&f.filter.Prefix, "prefix", "", "only tools whose ID begins with this `TEXT`")
	flags.StringVar(&f.filter.Tag, "tag", "", "only tools with this `TAG`")
	flags.StringVar(&f.filter.Model, "model", "", "only tools at which this `MODEL` was measured to be good")
	flags.Float64Var(&f.filter.MinScore, "min-score", 0, "the score of 100 that the model must reach (default 80)")
	return c
}

func (f *find) run(ctx context.Context, _ []string) error {
	return f.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		found, err := s.FindTools(ctx, f.filter)
		if err != nil {
			return err
		}
		none := "no tools"
		if f.filter.Model != "" {
			none = "no tool that this model was measured to be good at (callgate bench llm measures)"
		}
		return command.WriteList(f.Env, found, none, func() error {
			rows := make([][]render.Cell, len(found))
			for i, t := range found {
				rows[i] = []render.Cell{render.Bold(t.ID.String()), render.Plain(t.Policy), render.Plain(t.Description)}
			}
			return f.Style(f.Stdout).Table(f.Stdout, []string{"ID", "POLICY", "WHAT"}, rows)
		})
	})
}

// models is tools models.
type models struct {
	*command.Env
	min float64
}

func newModels(e *command.Env) *cobra.Command {
	m := &models{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "models TOOL", Short: "List the models that were measured to be good at a tool",
		Example: "  callgate tools models desk.triage\n  callgate tools models desk:triage@^1 --min-score 95",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completion{e}.name,
	}, m.run)
	c.Flags().Float64Var(&m.min, "min-score", 0, "the score of 100 that a model must reach (default 80)")
	return c
}

func (m *models) run(ctx context.Context, args []string) error {
	return m.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		found, err := s.ToolModels(ctx, protocol.FindModels{Tool: args[0], MinScore: m.min})
		switch {
		case err != nil:
			return err
		case m.JSON:
			return m.WriteJSON(found)
		case len(found.Models) == 0:
			m.Status("no model was measured to be good at %s (callgate bench llm measures)", found.Tool)
			return nil
		}
		rows := make([][]render.Cell, len(found.Models))
		for i, one := range found.Models {
			rows[i] = []render.Cell{render.Bold(one.Model), render.Plain(fmt.Sprintf("%.1f", one.Score))}
		}
		return command.WriteError(m.Style(m.Stdout).Table(m.Stdout, []string{"MODEL", "SCORE"}, rows))
	})
}
