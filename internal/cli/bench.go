package cli

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/eval"
	"callgate/tool"
)

func (p *program) benchCommand() *cobra.Command {
	var model string
	var languages bool
	c := p.leaf("search DIR ...", "Try the search engine on datasets: keywords, meaning, and both",
		"  callgate bench search my-dataset\n  callgate bench search --model models/mine --languages a b c",
		cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
			reports, err := p.runSearchBench(ctx, args, model)
			if err != nil {
				return err
			}
			if languages {
				reports = eval.ByLang(reports)
			}
			return p.showBench(reports)
		})
	c.Long = `A dataset is a folder with tools.jsonl {id, name, description, parameters},
queries.jsonl {id, text, lang} and qrels.jsonl {query, tool, rel}: one JSON
object on each line.`
	f := c.Flags()
	f.StringVar(&model, "model", "", "folder of a static model (default the one that is built in)")
	f.BoolVar(&languages, "languages", false, "a row for each language, of datasets that have several")
	return p.group("bench", "Measure how well, and how fast, it works here", "", c)
}

// runSearchBench runs every engine over every dataset.
func (p *program) runSearchBench(ctx context.Context, dirs []string, folder string) ([]eval.Named, error) {
	open := embed.Builtin
	if folder != "" {
		open = func() (*embed.Static, error) { return embed.Open(folder) }
	}
	model, err := open()
	if err != nil {
		return nil, err
	}
	var reports []eval.Named
	for _, dir := range dirs {
		set, err := eval.Load(dir)
		if err != nil {
			return nil, err
		}
		engines, err := bench.Engines(ctx, set, search.Static{Model: model})
		if err != nil {
			return nil, err
		}
		for _, e := range engines {
			p.status("%s: %s, %d queries over %d tools", set.Name, e.Name, len(set.Queries), len(set.Tools))
			reports = append(reports, eval.Named{Set: set.Name, Engine: e.Name, Report: eval.Run(set, e.Search)})
			if err := ctx.Err(); err != nil {
				return nil, &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "cancelled", Err: err}
			}
		}
	}
	return reports, nil
}

func (p *program) showBench(reports []eval.Named) error {
	if p.json {
		return p.writeJSON(reports)
	}
	return writeError(eval.Table(p.Stdout, reports))
}
