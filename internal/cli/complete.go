package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/argv"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// patience is how long a shell's user waits for a completion at most.
const patience = 2 * time.Second

// completing does something for a completion; what goes wrong gives none.
func completing(cmd *cobra.Command, do func(context.Context) []string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return do(ctx), cobra.ShellCompDirectiveNoFileComp
}

func (p *program) completeTool(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completing(cmd, func(ctx context.Context) (found []string) {
		p.json = true // no words but the completions
		_ = p.session(ctx, false, func(_ *kernel, s *client.Session) error {
			tools, err := s.Tools(ctx)
			for _, t := range tools {
				if strings.HasPrefix(t.Name, word) {
					about, _, _ := strings.Cut(t.Description, "\n")
					found = append(found, t.Name+"\t"+about)
				}
			}
			return err
		})
		return found
	})
}

// completeCall completes the tool's name, and then its flags.
func (p *program) completeCall(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return p.completeTool(cmd, args, word)
	}
	if !strings.HasPrefix(word, "-") {
		return nil, cobra.ShellCompDirectiveDefault // a value may be a file
	}
	return completing(cmd, func(ctx context.Context) (found []string) {
		p.json = true
		_ = p.session(ctx, false, func(_ *kernel, s *client.Session) error {
			t, err := s.Tool(ctx, args[0])
			if err != nil {
				return err
			}
			params, err := argv.Params(t.Input)
			for _, param := range params {
				found = append(found, "--"+param.Flag()+"\t"+param.Description)
			}
			found = append(found, "--args\tall arguments as JSON", "--no-wait\tdo not wait for a human", "--json\tthe whole envelope", "--help\twhat the tool takes")
			return err
		})
		return found
	})
}

func (p *program) completeApproval(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completing(cmd, func(ctx context.Context) (found []string) {
		_ = p.with(ctx, false, func(k *kernel) error {
			pending, err := k.Approvals(ctx, protocol.ApprovalPending)
			for _, r := range pending {
				found = append(found, r.ID+"\t"+r.Call.Tool.Dotted())
			}
			return err
		})
		return found
	})
}
