package skills

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// accept is skills accept and skills revoke.
type accept struct {
	*command.Env
	source string
	yes    bool
	revoke bool
}

func newAccept(e *command.Env, revoke bool) *cobra.Command {
	a := &accept{Env: e, revoke: revoke}
	describe := &cobra.Command{
		Use: "accept NAME", Short: "Let agents read a skill, after you have seen it",
		Example: "  callgate skills accept make-release\n  callgate skills accept tool-builder", Args: cobra.ExactArgs(1),
	}
	if revoke {
		describe = &cobra.Command{
			Use: "revoke NAME", Short: "Take back that agents may read a skill",
			Example: "  callgate skills revoke make-release", Args: cobra.ExactArgs(1),
		}
	}
	c := e.Leaf(describe, a.run)
	bindSource(c, &a.source)
	a.BindToken(c)
	if !revoke {
		c.Flags().BoolVar(&a.yes, "yes", false, "accept without asking; at a terminal the code is still to be typed")
	}
	return c
}

// run shows a skill and asks the human to accept it as it is, or takes that back.
func (a *accept) run(ctx context.Context, args []string) error {
	options := command.SessionOptions{Human: true, Quiet: true}
	return a.Session(ctx, options, func(k *command.Kernel, s *client.Session) error {
		all, err := s.Skills(ctx)
		if err != nil {
			return err
		}
		found, err := find(all, args[0], a.source)
		if err != nil {
			return err
		}
		word := protocol.SkillTrust{Source: found.Source, Digest: found.Digest, Revoke: a.revoke, By: a.UserName()}
		switch {
		case a.revoke:
			if err := s.TrustSkill(ctx, found.Command, word); err != nil {
				return err
			}
			a.Status("taken back: no agent reads the skill %s any more", found.Command)
			return nil
		case found.State == "accepted":
			a.Status("the skill %s is accepted as it is", found.Command)
			return nil
		}
		if err := write(a.Stderr, found); err != nil {
			return err
		}
		if ok, err := a.Consent(ctx, k, a.yes, "Let agents read and follow this?"); err != nil || !ok {
			return err
		}
		if err := s.TrustSkill(ctx, found.Command, word); err != nil {
			return err
		}
		a.Status("accepted: agents of sessions that begin now have the skill %s", found.Command)
		return nil
	})
}
