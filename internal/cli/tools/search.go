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
		Use: "search [QUERY ...]", Short: "Find tools by meaning, in any language",
		Example: "  callgate search read a file\n  callgate search \"supprimer un dossier\"\n" +
			"  callgate search --module filesystem --max-risk low \"find text\"",
		Args: cobra.ArbitraryArgs,
	}, s.run)
	f := c.Flags()
	f.StringArrayVarP(&s.query.Queries, "query", "q", nil, "another `QUERY`; may be repeated")
	f.StringSliceVar(&s.query.Modules, "module", nil, "only tools of these `MODULES`")
	f.StringSliceVar(&s.query.Tags, "tag", nil, "only tools with one of these `TAGS`")
	f.StringVar(&s.risk, "max-risk", "", "only tools up to this `RISK`: low, medium or high")
	f.StringSliceVar(&s.effects, "side-effect", nil, "only tools with one of these `EFFECTS`: none, read, write, external")
	f.IntVarP(&s.query.Limit, "limit", "n", 10, "print at most `N` results for each query")
	f.IntVar(&s.query.Offset, "offset", 0, "skip the first `N` results")
	f.BoolVar(&s.query.Exact, "exact", false, "compare words with names, tags and descriptions, not meanings")
	f.BoolVar(&s.query.Schemas, "schemas", false, "with --json: also the tools' schemas")
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
	if q.Exact && (len(q.Modules) > 1 || len(q.Tags) > 0 || s.risk != "" || len(s.effects) > 0 || q.Offset != 0) {
		return tool.Errorf("cli.search", tool.Invalid, "--exact searches all modules, or one module").
			WithHint("leave the other filters out, or search without --exact")
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
			s.Status("nothing here matches %q well", query)
		}
		return command.WriteError(s.Style(s.Stdout).SearchResult(s.Stdout, found))
	})
}
