// Package rules has the commands that try rules before they are kept.
package rules

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the command rules.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{Use: "rules", Short: "Try rules on what really happened"}
	return []*cobra.Command{e.Group(group, newTry(e))}
}

// try is rules try.
type try struct {
	*command.Env
	since string
	all   bool
}

func newTry(e *command.Env) *cobra.Command {
	t := &try{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "try FILE", Short: "Show which recorded calls would now run, ask or be refused",
		Long: `Show which recorded calls of this folder would now run, ask a human or be refused,
if FILE were its app file. FILE may hold tools.capabilities alone. Lasting grants
count as they would. Nothing is changed, and nothing runs.`,
		Example: "  callgate rules try callgate.yaml --since 30d\n  callgate rules try stricter.yaml --all",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, t.run)
	c.Flags().StringVar(&t.since, "since", "30d", "calls of the last `TIME`, as 30d, 2w or 12h")
	c.Flags().BoolVar(&t.all, "all", false, "also calls that fare as before")
	return c
}

func (t *try) run(ctx context.Context, args []string) error {
	span, ok := amount.ParseSpan(t.since)
	if !ok {
		return tool.Errorf("cli.rules", tool.Invalid, "--since %q is no span of time", tool.Truncate(t.since)).
			WithHint("write it as 30d, 2w or 12h")
	}
	folder, err := t.WorkspaceDir()
	if err != nil {
		return err
	}
	file, err := t.Abs(args[0])
	if err != nil {
		return err
	}
	return t.With(ctx, func(k *command.Kernel) error {
		report, err := k.TryRules(ctx, protocol.TryRules{
			Workspace: folder, File: file, Since: time.Now().Add(-span),
		})
		if err != nil {
			return err
		}
		if !t.all {
			report.Groups = changed(report.Groups)
		}
		if t.JSON {
			return t.WriteJSON(report)
		}
		return command.WriteError(t.Style(t.Stdout).RulesReport(t.Stdout, report))
	})
}

// changed are the groups of calls that would fare otherwise.
func changed(groups []protocol.RulesGroup) []protocol.RulesGroup {
	kept := []protocol.RulesGroup{}
	for _, g := range groups {
		if g.Before != g.Now {
			kept = append(kept, g)
		}
	}
	return kept
}
