package machine

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/gate/schema"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// build is build: it makes the tools of a folder ready to load.
type build struct {
	*command.Env
	relaxed bool
}

func newBuild(e *command.Env) *cobra.Command {
	b := &build{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "build [DIR]", Short: "Compile the tools of a folder and record their hashes",
		Example: "  callgate build            # the folder tools/ of the workspace\n  callgate build ../team-tools",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, b.run)
	c.Flags().BoolVar(&b.relaxed, "relaxed", false, "run build scripts even where this machine has no full sandbox")
	return c
}

func (b *build) run(ctx context.Context, args []string) error {
	folder, err := b.WorkspaceDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(folder, "tools")
	if len(args) > 0 {
		if dir = args[0]; !filepath.IsAbs(dir) {
			dir = filepath.Join(folder, dir)
		}
	}
	state, err := b.StateDir()
	if err != nil {
		return err
	}
	out := io.Writer(b.Stderr)
	if b.JSON {
		out = io.Discard
	}
	report, err := executable.Build(ctx, executable.BuildOptions{
		Dir: dir, Out: out, Hidden: []string{state.String()}, Relaxed: b.relaxed,
		Check: func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
	})
	if err != nil {
		return err
	}
	if b.JSON {
		if err := b.WriteJSON(report); err != nil {
			return err
		}
	}
	if len(report.Problems) > 0 {
		for _, problem := range report.Problems {
			b.Status("%s", problem)
		}
		return tool.Errorf("cli.build", tool.Failed, "nothing was recorded: %s", amount.Of(len(report.Problems), "problem")).
			WithHint("fix that and build again")
	}
	if !b.JSON {
		b.Status("recorded %s in %s (%d compiled, %d from the cache)",
			amount.Of(len(report.Tools), "tool"), report.Lock, report.Built, report.Reused)
	}
	return nil
}
