package machine

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/protocol/operations"
	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/embed"
	"callgate/internal/search/eval"
	"callgate/tool"
)

// searchBench is bench search.
type searchBench struct {
	*command.Env
	models    []string
	languages bool
	own       bool
	endpoint  operations.EmbeddingService
}

func newBench(e *command.Env) *cobra.Command {
	b := &searchBench{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "search [DIR ...]", Short: "Measure the search: by keywords, by meaning, and by both",
		Long: `A dataset is a folder with tools.jsonl {id, name, description, parameters},
queries.jsonl {id, text, lang} and qrels.jsonl {query, tool, rel}: one JSON
object on each line.

With --own the tools are those of the app here, and the queries are requests that
led to a call which went well: those that were learned, and those that the journal
tells of. A learned request is left out of what was learned while it is asked.`,
		Example: "  callgate bench search my-dataset\n  callgate bench search --model models/mine --languages a b c\n" +
			"  callgate bench search --own --endpoint http://127.0.0.1:11434 --endpoint-model nomic-embed-text",
		Args: cobra.ArbitraryArgs,
	}, b.run)
	f := c.Flags()
	f.StringArrayVar(&b.models, "model", nil, "use the static model in `DIR` (default the built-in one); "+
		"with --own: also measure it, and may be repeated")
	f.BoolVar(&b.own, "own", false, "measure on your own tools, and on what you asked for")
	f.StringVar(&b.endpoint.URL, "endpoint", "",
		"with --own: also measure the embeddings API at `URL`, which is told of both")
	f.StringVar(&b.endpoint.Model, "endpoint-model", "", "the `NAME` of the model there")
	f.StringVar(&b.endpoint.Secret, "endpoint-key", "", "the `SECRET` whose value is its key")
	f.BoolVar(&b.languages, "languages", false, "write a row for each language of a dataset")
	return e.Group(&cobra.Command{Use: "bench", Short: "Measure how well Callgate works here"},
		newBenchAgent(e), newBenchLLM(e), c)
}

func (b *searchBench) run(ctx context.Context, dirs []string) error {
	if err := b.checkOwn(dirs); err != nil {
		return err
	}
	if b.own {
		return b.measureOwn(ctx)
	}
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
	if len(b.models) > 0 {
		open = func() (*embed.Static, error) { return embed.Open(b.Path(b.models[0])) }
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
