package modeluse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
)

// stats is stats.
type stats struct {
	*command.Env
	span
}

func newStats(e *command.Env) *cobra.Command {
	s := &stats{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "stats", Short: "Show what Callgate did for you",
		Long: `Show what Callgate did for you, out of the journal: calls that were put right or
refused, questions that you were not asked because of a grant, secrets that were kept from
models, and what models were not sent because they are shown no more tools than they need.`,
		Example: "  callgate stats --since 7d", Args: cobra.NoArgs,
	}, s.run)
	s.bind(c)
	return c
}

func (s *stats) run(ctx context.Context, _ []string) error {
	since, err := s.since()
	if err != nil {
		return err
	}
	return s.With(ctx, func(k *command.Kernel) error {
		found, err := client.Stats(ctx, k.Client, since, 0)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(found)
		}
		return s.Print(statsText(found, s.text))
	})
}

// statsText says what the gate did, a line for each thing that there is something to say of.
func statsText(s operations.Stats, span string) string {
	if s.Calls+s.Refused+s.Surface.Turns == 0 {
		return "no call was made in the last " + span + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "in the last %s", span)
	if s.Calls > 0 {
		fmt.Fprintf(&b, ", %d calls, of which %d went well", s.Calls, s.Succeeded)
	}
	b.WriteString("\n")
	for _, line := range []struct {
		n    int
		text string
	}{
		{s.Refused, "calls refused before they ran"},
		{s.Coerced, "calls put right: their arguments had the wrong form"},
		{s.PutRight, "mistakes that the next call did not make, because of what the model was told"},
		{s.Approved, fmt.Sprintf("calls that you approved, %d of them with other arguments", s.Edited)},
		{s.Denied, "calls that you denied"},
		{s.Expired, "calls that nobody answered"},
		{s.Granted, "questions that you were not asked, because of a lasting grant"},
		{s.Allowed, "questions that you were not asked, because of what you allowed in a session"},
		{s.Scrubbed, "results out of which secrets were taken"},
		{s.Cut, "results too large for a model, kept whole beside it"},
		{s.Doubted, "calls whose end nobody saw: callgate log doubts"},
		{s.Surface.Tokens,
			fmt.Sprintf("tokens of definitions, at least, that models were not sent in %d turns", s.Surface.Turns)},
	} {
		if line.n > 0 {
			fmt.Fprintf(&b, "%9d  %s\n", line.n, line.text)
		}
	}
	if s.Partial {
		fmt.Fprintf(&b, "only the last %d records were looked at, since %s\n", s.Records,
			s.From.Local().Format(time.DateTime))
	}
	return b.String()
}
