package grants

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

// suggest is grants suggest.
type suggest struct {
	*command.Env
	keep  int
	until string
	yes   bool
}

func newSuggest(e *command.Env) *cobra.Command {
	s := &suggest{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "suggest", Short: "Propose patterns that were approved at least three times and never denied",
		Example: "  callgate grants suggest\n  callgate grants suggest --keep 1 --until 30d", Args: cobra.NoArgs,
	}, s.run)
	c.Flags().IntVar(&s.keep, "keep", 0, "keep the suggestion with this `NUMBER`, after it is shown")
	c.Flags().StringVar(&s.until, "until", "", "with --keep: the `END` of the grant, as 30d or 2027-01-31")
	c.Flags().BoolVar(&s.yes, "yes", false,
		"with --keep: keep it without asking; at a terminal the code is still to be typed")
	s.BindToken(c)
	return c
}

func (s *suggest) run(ctx context.Context, _ []string) error {
	until, err := protocol.ParseUntil(s.until, time.Now())
	if err != nil {
		return err
	}
	return s.WithKey(ctx, func(k *command.Kernel) error {
		found, err := k.Grants().Suggest(ctx)
		switch {
		case err != nil:
			return err
		case s.keep != 0:
			return s.keepOne(ctx, k, found, until)
		case s.JSON:
			return s.WriteJSON(found)
		case len(found) == 0:
			s.Status("nothing to suggest: no pattern was approved three times and never denied")
			return nil
		}
		return command.WriteError(s.Style(s.Stdout).GrantSuggestions(s.Stdout, found))
	})
}

// keepOne shows one suggestion and keeps exactly that.
func (s *suggest) keepOne(
	ctx context.Context, k *command.Kernel, found []protocol.GrantSuggestion, until time.Time,
) error {
	if s.keep < 1 || s.keep > len(found) {
		return tool.Errorf(op, tool.Invalid, "there is no suggestion %d", s.keep).
			WithHint("callgate grants suggest numbers them")
	}
	g := found[s.keep-1].Grant
	g.Until = until
	if err := s.Style(s.Stderr).GrantSuggestions(s.Stderr, found[s.keep-1:s.keep]); err != nil {
		return command.WriteError(err)
	}
	if ok, err := s.Consent(ctx, k, s.yes, "Let such calls run from now on, without asking?"); err != nil || !ok {
		return err
	}
	kept, err := k.Grants().Keep(ctx, protocol.KeepGrant{Grant: g, By: s.UserName()})
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(kept)
	}
	s.Status("kept as grant %s: %s %s", kept.ID, kept.Tool, visible.Text(kept.Text))
	return nil
}
