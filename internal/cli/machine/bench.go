package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/eval"
	"callgate/tool"
)

// searchBench is bench search.
type searchBench struct {
	*command.Env
	model     string
	languages bool
}

func newBench(e *command.Env) *cobra.Command {
	b := &searchBench{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "search DIR ...", Short: "Measure the search on datasets: by keywords, by meaning, and by both",
		Long: `A dataset is a folder with tools.jsonl {id, name, description, parameters},
queries.jsonl {id, text, lang} and qrels.jsonl {query, tool, rel}: one JSON
object on each line.`,
		Example: "  callgate bench search my-dataset\n  callgate bench search --model models/mine --languages a b c",
		Args:    cobra.MinimumNArgs(1),
	}, b.run)
	f := c.Flags()
	f.StringVar(&b.model, "model", "", "use the static model in `DIR` (default the built-in one)")
	f.BoolVar(&b.languages, "languages", false, "write a row for each language of a dataset")
	return e.Group(&cobra.Command{Use: "bench", Short: "Measure how well Callgate works here"},
		newBenchAgent(e), newBenchLLM(e), c)
}

func (b *searchBench) run(ctx context.Context, dirs []string) error {
	reports, err := b.measure(ctx, dirs)
	if err != nil {
		return err
	}
	if b.languages {
		reports = eval.ByLang(reports)
	}
	if b.JSON {
		return b.WriteJSON(reports)
	}
	return command.WriteError(eval.Table(b.Stdout, reports))
}

// measure runs every engine over every dataset.
func (b *searchBench) measure(ctx context.Context, dirs []string) ([]eval.Named, error) {
	open := embed.Builtin
	if b.model != "" {
		open = func() (*embed.Static, error) { return embed.Open(b.Path(b.model)) }
	}
	model, err := open()
	if err != nil {
		return nil, err
	}
	var reports []eval.Named
	for _, dir := range dirs {
		set, err := eval.Load(b.Path(dir))
		if err != nil {
			return nil, err
		}
		engines, err := bench.Engines(ctx, set, search.Static{Model: model})
		if err != nil {
			return nil, err
		}
		for _, e := range engines {
			b.Status("%s: %s, %d queries over %s", set.Name, e.Name, len(set.Queries), amount.Of(len(set.Tools), "tool"))
			reports = append(reports, eval.Named{Set: set.Name, Engine: e.Name, Report: eval.Run(set, e.Search)})
			if err := ctx.Err(); err != nil {
				return nil, &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "cancelled", Err: err}
			}
		}
	}
	return reports, nil
}
