package tools

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// search is search.
type search struct {
	*command.Env
	query   protocol.Search
	risk    string
	effects []string
}

func newSearch(e *command.Env) *cobra.Command {
	s := &search{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "search [WORDS ...]", Short: "Find tools by what you mean, in any language",
		Example: "  callgate search read a file\n  callgate search \"supprimer un dossier\"\n" +
			"  callgate search --module filesystem --max-risk low \"find text\"",
		Args: cobra.ArbitraryArgs,
	}, s.run)
	f := c.Flags()
	f.StringArrayVarP(&s.query.Queries, "query", "q", nil, "another query; may be given several times")
	f.StringSliceVar(&s.query.Modules, "module", nil, "only tools of these modules")
	f.StringSliceVar(&s.query.Tags, "tag", nil, "only tools with one of these tags")
	f.StringVar(&s.risk, "max-risk", "", "only tools of at most this risk: low, medium or high")
	f.StringSliceVar(&s.effects, "side-effect", nil, "only tools with one of these: none, read, write, external")
	f.IntVarP(&s.query.Limit, "limit", "n", 10, "how many results for each query")
	f.IntVar(&s.query.Offset, "offset", 0, "how many results to pass over")
	f.BoolVar(&s.query.Schemas, "schemas", false, "with --json: the tools' whole schemas too")
	return c
}

func (s *search) run(ctx context.Context, args []string) error {
	q := s.query
	if words := strings.TrimSpace(strings.Join(args, " ")); words != "" {
		q.Queries = append([]string{words}, q.Queries...)
	}
	q.MaxRisk = tool.Risk(s.risk)
	for _, effect := range s.effects {
		q.SideEffects = append(q.SideEffects, tool.SideEffect(effect))
	}
	return s.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, session *client.Session) error {
		found, err := session.Search(ctx, q)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(found)
		}
		if found.Degraded != "" {
			s.Status("only keywords were searched: %s", found.Degraded)
		}
		for _, query := range found.Unmatched {
			s.Status("nothing here answers %q well", query)
		}
		return command.WriteError(s.Style(s.Stdout).SearchResult(s.Stdout, found))
	})
}
