package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) searchCommand() *cobra.Command {
	var q protocol.Search
	var risk string
	var effects []string
	c := p.leaf("search [WORDS ...]", "Find tools by what you mean, in any language",
		"  callgate search read a file\n  callgate search \"supprimer un dossier\"\n  callgate search --module filesystem --max-risk low \"find text\"",
		cobra.ArbitraryArgs, func(ctx context.Context, args []string) error {
			if words := strings.TrimSpace(strings.Join(args, " ")); words != "" {
				q.Queries = append([]string{words}, q.Queries...)
			}
			q.MaxRisk = tool.Risk(risk)
			for _, e := range effects {
				q.SideEffects = append(q.SideEffects, tool.SideEffect(e))
			}
			return p.search(ctx, q)
		})
	f := c.Flags()
	f.StringArrayVarP(&q.Queries, "query", "q", nil, "another query; may be given several times")
	f.StringSliceVar(&q.Modules, "module", nil, "only tools of these modules")
	f.StringSliceVar(&q.Tags, "tag", nil, "only tools with one of these tags")
	f.StringVar(&risk, "max-risk", "", "only tools of at most this risk: low, medium or high")
	f.StringSliceVar(&effects, "side-effect", nil, "only tools with one of these: none, read, write, external")
	f.IntVarP(&q.Limit, "limit", "n", 10, "how many results for each query")
	f.IntVar(&q.Offset, "offset", 0, "how many results to pass over")
	f.BoolVar(&q.Schemas, "schemas", false, "with --json: the tools' whole schemas too")
	return c
}

func (p *program) search(ctx context.Context, q protocol.Search) error {
	return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
		found, err := s.Search(ctx, q)
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(found)
		}
		if found.Degraded != "" {
			p.status("only keywords were searched: %s", found.Degraded)
		}
		for _, query := range found.Unmatched {
			p.status("nothing here answers %q well", query)
		}
		return writeError(p.style(p.Stdout).SearchResult(p.Stdout, found))
	})
}
