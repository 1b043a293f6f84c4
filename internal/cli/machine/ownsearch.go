package machine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
	"callgate/internal/visible"
	"callgate/tool"
)

// few is the number of requests below which differences say little.
const few = 30

// measureOwn measures ways to search on the tools of the app here, and on the user's own requests.
func (b *searchBench) measureOwn(ctx context.Context) error {
	in := operations.OwnBench{}
	for _, dir := range b.models {
		in.Models = append(in.Models, b.Path(dir))
	}
	if b.endpoint.URL != "" {
		in.Endpoints = append(in.Endpoints, b.endpoint)
	}
	return b.Session(ctx, command.SessionOptions{Human: true}, func(_ *command.Kernel, s *client.Session) error {
		report, err := client.OwnBench(ctx, s, in)
		if err != nil {
			return err
		}
		if b.JSON {
			return b.WriteJSON(report)
		}
		return b.writeOwn(report)
	})
}

// checkOwn reports flags that do not go together.
func (b *searchBench) checkOwn(dirs []string) error {
	switch e := b.endpoint; {
	case b.own == (len(dirs) > 0):
		return tool.Errorf("cli.bench", tool.Invalid, "say what to measure on: folders with datasets, or --own").
			WithHint("callgate bench search --own takes your tools, and what you asked for")
	case !b.own && (e.URL != "" || e.Model != "" || e.Secret != "" || len(b.models) > 1):
		return tool.Errorf("cli.bench", tool.Invalid, "an endpoint and several models are compared with --own").
			WithHint("give one --model")
	case b.own && b.languages:
		return tool.Errorf("cli.bench", tool.Invalid, "--languages is for datasets, which say the language of a query")
	case e.URL == "" && (e.Model != "" || e.Secret != ""):
		return tool.Errorf("cli.bench", tool.Invalid, "--endpoint-model and --endpoint-key are of an endpoint").
			WithHint("add --endpoint URL")
	}
	return nil
}

func (b *searchBench) writeOwn(r operations.OwnBenchReport) error {
	from := fmt.Sprintf("%s of %s, %d learned", amount.Of(r.Requests, "request"), amount.Of(r.Tools, "tool"), r.Learned)
	if r.Requests > r.Learned {
		from += fmt.Sprintf(" and %d out of %s of the journal", r.Requests-r.Learned, amount.Of(r.Records, "record"))
	}
	if r.Requests == 0 {
		b.Status("there is nothing to measure: no request led to a call that went well yet (%s of the journal, %s)",
			amount.Of(r.Records, "record"), amount.Of(r.Searches, "search"))
		if r.Gone > 0 {
			b.Status("the tools of %s are not here any more", amount.Of(r.Gone, "pair"))
		}
		b.Status("search with callgate search, or have an agent search with search_tools, and call a tool that was found; " +
			"a dataset of your own is measured with callgate bench search DIR")
		return nil
	}
	rows := make([][]render.Cell, len(r.Ways))
	for i, w := range r.Ways {
		rows[i] = []render.Cell{render.Bold(w.Name)}
		for _, e := range []operations.Estimate{w.Recall1, w.Recall5, w.NDCG10, w.MRR} {
			text := "-"
			if w.ByKeywords < r.Requests {
				text = fmt.Sprintf("%s (%s–%s)", share(e.Mean), share(e.Low), share(e.High))
			}
			rows[i] = append(rows[i], render.Plain(text))
		}
		rows[i] = append(rows[i], render.Plain(w.Median.Round(time.Microsecond).String()))
	}
	err := b.Style(b.Stdout).Table(b.Stdout, []string{"ENGINE", "R@1", "R@5", "nDCG@10", "MRR", "MEDIAN"}, rows)
	if err != nil {
		return command.WriteError(err)
	}
	b.Status("%s; in brackets the 95 %% interval", from)
	for _, w := range r.Ways {
		if w.ByKeywords > 0 {
			b.Status("%s: %s by keywords alone: %s", w.Name, amount.Of(w.ByKeywords, "answer"), visible.Text(w.Problem))
		}
	}
	if r.Requests < few {
		b.Status("these are few requests: what lies within the brackets of another is no difference")
	}
	return nil
}

// share writes a number between 0 and 1 in two digits.
func share(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	if v < 1 {
		text = strings.TrimPrefix(text, "0")
	}
	return text
}
