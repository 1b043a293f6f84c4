// Package proposals has the commands by which a human sees what agents propose, and accepts
// or refuses it. Law: what is accepted is what was shown in the same command.
package proposals

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

const op = "cli.proposals"

// Commands returns the command proposals.
func Commands(e *command.Env) []*cobra.Command {
	show, accept, refuse := newShow(e), newAccept(e), newRefuse(e)
	for _, c := range []*cobra.Command{show, accept, refuse} {
		c.ValidArgsFunction = command.CompleteFirst(pending(e))
	}
	group := &cobra.Command{
		Use: "proposals", Short: "See, accept and refuse what agents propose to change",
		Long: `Agents propose tools, skills, changes of the app file and, with the module
workspace, changes of files; a human decides. A proposal has no effect until it
is accepted, and what is accepted is what was shown: if a file has changed
since, it is shown again.`,
		Example: `  callgate proposals list
  callgate proposals show prop_3f       the first letters of an ID are enough
  callgate proposals accept prop_3f
  callgate proposals accept prop_3f --hunk 5be1c07a93d2
  callgate proposals refuse prop_3f --feedback "ask me before you push"`,
	}
	return []*cobra.Command{e.Group(group, newList(e), show, accept, refuse)}
}

// pending completes the IDs of proposals that wait.
func pending(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := client.NewProposals(k.Client).List(ctx, protocol.ProposalPending)
			for _, p := range list {
				found = append(found, p.ID+"\t"+p.Kind+" "+visible.Text(p.Title))
			}
			return err
		})
		return found
	}
}

// find returns the proposal with an ID, or the only one whose ID begins with it, with what
// accepting it would do.
func find(ctx context.Context, k *command.Kernel, id string) (protocol.Proposal, error) {
	all, err := client.NewProposals(k.Client).List(ctx, "")
	if err != nil {
		return protocol.Proposal{}, err
	}
	one, ok, err := command.FindByPrefix(all, id, "proposals", func(p protocol.Proposal) string { return p.ID })
	if err == nil && !ok {
		err = tool.Errorf(op, tool.NotFound, "there is no proposal %s", tool.Truncate(id)).
			WithHint("callgate proposals list --all shows them")
	}
	if err != nil {
		return one, err
	}
	return client.NewProposals(k.Client).Get(ctx, one.ID)
}

// list is proposals list.
type list struct {
	*command.Env
	all bool
}

func newList(e *command.Env) *cobra.Command {
	l := &list{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "list", Short: "List the proposals that wait for a human",
		Example: "  callgate proposals list --all", Args: cobra.NoArgs,
	}, l.run)
	c.Flags().BoolVar(&l.all, "all", false, "also those that were answered")
	return c
}

func (l *list) run(ctx context.Context, _ []string) error {
	state := protocol.ProposalPending
	if l.all {
		state = ""
	}
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := client.NewProposals(k.Client).List(ctx, state)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "no proposal waits for a human", func() error {
			rows := make([][]render.Cell, len(found))
			for i, p := range found {
				rows[i] = []render.Cell{
					render.Plain(p.ID), render.Plain(string(p.State)), render.Plain(p.Kind), render.Plain(visible.Clip(p.Title, 60)),
					render.Plain(p.Made.Local().Format("2006-01-02 15:04")), render.Plain(visible.Clip(p.Reason, 80)),
				}
			}
			header := []string{"ID", "STATE", "KIND", "ABOUT", "MADE", "REASON"}
			return l.Style(l.Stdout).Table(l.Stdout, header, rows)
		})
	})
}

// show is proposals show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show what a proposal would change, and what that would allow",
		Example: "  callgate proposals show prop_3f", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		p, err := find(ctx, k, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(p)
		}
		return s.Print(text(p))
	})
}

// text is a proposal with everything that a human decides on.
func text(p protocol.Proposal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s, %s\n", p.ID, p.Kind, visible.Text(p.Title), p.State)
	fmt.Fprintf(&b, "of %s in %s, %s\n", visible.Text(orSomebody(p.Agent)), visible.Text(p.Workspace),
		p.Made.Local().Format("2006-01-02 15:04"))
	fmt.Fprintf(&b, "reason, in its words: %s\n", visible.Text(p.Reason))
	if p.By != "" {
		fmt.Fprintf(&b, "%s by %s, %s\n", p.State, visible.Text(p.By), p.At.Local().Format("2006-01-02 15:04"))
	}
	for _, done := range p.Done {
		fmt.Fprintf(&b, "  %s\n", visible.Text(done))
	}
	if p.Feedback != "" {
		fmt.Fprintf(&b, "feedback: %s\n", visible.Lines(p.Feedback))
	}
	if p.Shown != "" {
		b.WriteString("\n" + visible.Lines(p.Shown))
	}
	if p.Problem != "" && p.State == protocol.ProposalPending {
		fmt.Fprintf(&b, "\nit cannot be accepted: %s\n", visible.Lines(p.Problem))
	}
	return b.String()
}

func orSomebody(agent string) string {
	if agent == "" {
		return "a client"
	}
	return "the agent " + agent
}

// accept is proposals accept.
type accept struct {
	*command.Env
	yes      bool
	feedback string
	hunks    []string
}

func newAccept(e *command.Env) *cobra.Command {
	a := &accept{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "accept ID", Short: "Show a proposal, and do what it says if you accept it",
		Example: "  callgate proposals accept prop_3f", Args: cobra.ExactArgs(1),
	}, a.run)
	c.Flags().BoolVar(&a.yes, "yes", false, "accept without asking; at a terminal the code is still to be typed")
	c.Flags().StringVar(&a.feedback, "feedback", "", "what the agent is told with it, as `TEXT`")
	c.Flags().StringSliceVar(&a.hunks, "hunk", nil, "of a change of a file accept only the hunk `ID`; the rest waits on")
	a.BindToken(c)
	return c
}

func (a *accept) run(ctx context.Context, args []string) error {
	if err := namesHunks(a.hunks); err != nil {
		return err
	}
	return a.WithKey(ctx, func(k *command.Kernel) error {
		p, err := find(ctx, k, args[0])
		switch {
		case err != nil:
			return err
		case p.Digest == "":
			return tool.Errorf(op, tool.Conflict, "%s cannot be accepted: %s", p.ID, p.Problem)
		}
		a.Status("%s", text(p))
		for _, hunk := range a.hunks {
			if !slices.Contains(p.Hunks, hunk) {
				return tool.Errorf(op, tool.NotFound, "%s has no hunk %s", p.ID, tool.Truncate(hunk))
			}
		}
		if ok, err := a.Consent(ctx, k, a.yes, "Accept?"); err != nil || !ok {
			return err
		}
		done, err := client.NewProposals(k.Client).Accept(ctx, p.ID, protocol.AcceptProposal{
			Digest: p.Digest, By: a.UserName(), Feedback: a.feedback, Hunks: a.hunks,
		})
		switch {
		case err != nil:
			return err
		case a.JSON:
			return a.WriteJSON(done)
		}
		if done.State == protocol.ProposalPending {
			a.Status("accepted %s; the rest waits", strings.Join(a.hunks, ", "))
			return nil
		}
		a.Status("accepted; %s", visible.Text(strings.Join(done.Done, "; ")))
		return nil
	})
}

// namesHunks refuses --hunk without an ID: an empty variable of a script does not mean all hunks.
func namesHunks(hunks []string) error {
	if hunks != nil && (len(hunks) == 0 || slices.Contains(hunks, "")) {
		return tool.Errorf(op, tool.Invalid, "--hunk names no hunk").
			WithHint("give the ID of one, or leave the flag out to answer the proposal as a whole")
	}
	return nil
}

// refuse is proposals refuse.
type refuse struct {
	*command.Env
	feedback string
	hunks    []string
}

func newRefuse(e *command.Env) *cobra.Command {
	r := &refuse{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "refuse ID", Short: "Refuse a proposal: nothing changes",
		Example: "  callgate proposals refuse prop_3f --feedback \"not for this project\"", Args: cobra.ExactArgs(1),
	}, r.run)
	c.Flags().StringVar(&r.feedback, "feedback", "", "what the agent is told with it, as `TEXT`")
	c.Flags().StringSliceVar(&r.hunks, "hunk", nil, "of a change of a file refuse only the hunk `ID`; the rest waits on")
	return c
}

func (r *refuse) run(ctx context.Context, args []string) error {
	if err := namesHunks(r.hunks); err != nil {
		return err
	}
	return r.WithKey(ctx, func(k *command.Kernel) error {
		p, err := find(ctx, k, args[0])
		if err != nil {
			return err
		}
		done, err := client.NewProposals(k.Client).Refuse(ctx, p.ID, protocol.RefuseProposal{
			By: r.UserName(), Feedback: r.feedback, Hunks: r.hunks,
		})
		switch {
		case err != nil:
			return err
		case r.JSON:
			return r.WriteJSON(done)
		}
		if done.State == protocol.ProposalPending {
			r.Status("refused %s; the rest waits", strings.Join(r.hunks, ", "))
			return nil
		}
		if done.State == protocol.ProposalAccepted {
			r.Status("refused the rest of %s; %s", p.ID, visible.Text(strings.Join(done.Done, "; ")))
			return nil
		}
		r.Status("refused %s; nothing was changed", p.ID)
		return nil
	})
}
