package cli

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"callgate/internal/gate/schema"
	"callgate/internal/source/executable"
	"callgate/tool"
)

// buildCommand makes the tools of a folder ready to load.
func (p *program) buildCommand() *cobra.Command {
	var relaxed bool
	c := p.leaf("build [FOLDER]", "Compile the tools of a folder and record what they are",
		"  callgate build            # the folder tools/ of the workspace\n  callgate build ../team-tools",
		cobra.MaximumNArgs(1), func(ctx context.Context, args []string) error { return p.build(ctx, args, relaxed) })
	c.Flags().BoolVar(&relaxed, "relaxed", false, "run build scripts even where this machine cannot put up every wall")
	c.ValidArgsFunction = nil // folders
	return c
}

func (p *program) build(ctx context.Context, args []string, relaxed bool) error {
	folder, err := p.folder()
	if err != nil {
		return err
	}
	dir := filepath.Join(folder, "tools")
	if len(args) > 0 {
		if dir = args[0]; !filepath.IsAbs(dir) {
			dir = filepath.Join(folder, dir)
		}
	}
	state, err := p.stateDir()
	if err != nil {
		return err
	}
	out := io.Writer(p.Stderr)
	if p.json {
		out = io.Discard
	}
	report, err := executable.Build(ctx, executable.BuildOptions{
		Dir: dir, Out: out, Hidden: []string{state.String()}, Relaxed: relaxed,
		Check: func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
	})
	if err != nil {
		return err
	}
	if p.json {
		if err := p.writeJSON(report); err != nil {
			return err
		}
	}
	if len(report.Problems) > 0 {
		for _, problem := range report.Problems {
			p.status("%s", problem)
		}
		return tool.Errorf("cli.build", tool.Failed, "nothing was recorded: %d problems", len(report.Problems)).WithHint("mend them and build again")
	}
	if !p.json {
		p.status("%d tools recorded in %s (%d compiled, %d from the cache)", len(report.Tools), report.Lock, report.Built, report.Reused)
	}
	return nil
}
