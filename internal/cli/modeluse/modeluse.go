// Package modeluse has the commands that show what the gate did, how models did at LLM-backed tools, and
// which one a tool should ask first.
package modeluse

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/tool"
)

const op = "cli.models"

// Commands returns the commands models and stats.
func Commands(e *command.Env) []*cobra.Command {
	s := &show{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "models", Short: "Show how models did at LLM-backed tools",
		Long: `Show how models did at LLM-backed tools, out of the journal: how many calls went
well, were repaired, cut off, of the wrong form, refused or late, what they cost, and
how long they took. A fallback is asked what others failed at, so it is judged by
harder calls.`,
		Example: `  callgate models --since 30d
  callgate models --tool desk.triage --json
  callgate models propose desk.triage`,
		Args: cobra.NoArgs,
	}, s.run)
	s.bind(c)
	c.Flags().StringVar(&s.tool, "tool", "", "only the `TOOL` with this name or ID")
	c.AddCommand(newPropose(e))
	return []*cobra.Command{c, newStats(e)}
}

// span is the flag --since.
type span struct{ text string }

func (s *span) bind(c *cobra.Command) {
	c.Flags().StringVar(&s.text, "since", "30d", "calls of the last `TIME`, as 30d, 2w or 12h")
}

func (s *span) since() (time.Time, error) {
	length, ok := amount.ParseSpan(s.text)
	if !ok {
		return time.Time{}, tool.Errorf(op, tool.Invalid, "--since %q is no span of time", tool.Truncate(s.text)).
			WithHint("write it as 30d, 2w or 12h")
	}
	return time.Now().Add(-length), nil
}

// show is models.
type show struct {
	*command.Env
	span
	tool string
}

func (s *show) run(ctx context.Context, _ []string) error {
	since, err := s.since()
	if err != nil {
		return err
	}
	return s.With(ctx, func(k *command.Kernel) error {
		list, err := client.NewModelUse(k.Client).List(ctx, since, s.tool)
		if err != nil {
			return err
		}
		none := "no LLM-backed tool asked a model in the last " + s.text
		return command.WriteList(s.Env, list, none, func() error { return write(s.Stdout, s.Style(s.Stdout), list) })
	})
}

// propose is models propose.
type propose struct {
	*command.Env
	span
	minCalls int
}

func newPropose(e *command.Env) *cobra.Command {
	p := &propose{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "propose TOOL", Short: "Propose which model a tool should ask first",
		Long: `Propose which model a tool should ask first, by the calls of this app: one that is
cheaper and not worse, or one that is better, as far as the calls show it. The proposal
is stored, and a human accepts it or does not: callgate proposals. Nothing changes by
itself. Without an app file, what it would say is printed.`,
		Example: "  callgate models propose desk.triage --since 12w", Args: cobra.ExactArgs(1),
	}, p.run)
	p.bind(c)
	c.Flags().IntVar(&p.minCalls, "min-calls", 0, "judge models that had at least `N` calls; 0: 30")
	return c
}

func (p *propose) run(ctx context.Context, args []string) error {
	since, err := p.since()
	if err != nil {
		return err
	}
	if p.minCalls < 0 {
		return tool.Errorf(op, tool.Invalid, "--min-calls is %d", p.minCalls).WithHint("write a positive number")
	}
	return p.Session(ctx, command.SessionOptions{Quiet: true}, func(k *command.Kernel, s *client.Session) error {
		advice, err := client.NewModelUse(k.Client).Advice(ctx, s, args[0], since, p.minCalls)
		if err != nil {
			return err
		}
		out := proposed{ModelAdvice: advice}
		if len(advice.Models) > 0 && advice.AppFile != "" {
			if out.Proposal, err = store(ctx, s, advice); err != nil {
				return err
			}
		}
		if p.JSON {
			return p.WriteJSON(out)
		}
		return p.Print(out.words())
	})
}

// proposed is what was found, and the proposal that it became.
type proposed struct {
	protocol.ModelAdvice
	Proposal string `json:"proposal,omitempty"`
}

// store stores the proposal as an agent's is.
func store(ctx context.Context, s *client.Session, a protocol.ModelAdvice) (id string, err error) {
	args, err := json.Marshal(map[string]any{
		"changes": []any{map[string]any{"path": "tools.llm.models", "value": a.Choices}},
		"reason":  tool.TruncateTo(a.Tool+": "+a.Reason, 2000),
	})
	if err != nil {
		return "", err
	}
	r, err := s.Call(ctx, protocol.CallRequest{Name: "propose_config_change", Args: args})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"proposal_id"`
	}
	return made.ID, json.Unmarshal(r.Data, &made)
}

// words says what was found.
func (p proposed) words() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", visible.Text(p.Reason))
	switch {
	case len(p.Models) == 0:
	case p.Proposal != "":
		fmt.Fprintf(&out, "proposed as %s; nothing has changed\n  show    callgate proposals show %s\n"+
			"  accept  callgate proposals accept %s\n", p.Proposal, p.Proposal, p.Proposal)
	default:
		out.WriteString("there is no app file here; in one it would be\n\ntools:\n  llm:\n    models:\n")
		for _, id := range slices.Sorted(maps.Keys(p.Choices)) {
			fmt.Fprintf(&out, "      %s: [%s]\n", id, visible.Text(strings.Join(p.Choices[id], ", ")))
		}
	}
	return out.String()
}
