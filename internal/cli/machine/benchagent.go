package machine

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/agent/bench"
	"callgate/internal/cli/command"
	"callgate/tool"
)

const benchAgentLong = `Have an agent do a suite of tasks, each in a workspace, a home and a state directory
of its own: read, search, edit, test, recover from errors, long files, large
output, many tools, other languages, patches, refusals, limits and broken streams.

The models are scripted: they guess the names of tools and parameters that models are
trained with, leave fields out, quote JSON, believe hints, and stop where a result
looks complete, and they know only what they are sent. So the numbers tell what
the texts and the tools are worth: tasks that ended right, calls, wasted calls (they
failed, repeat what was known, or told nothing), tokens (four bytes each), seconds.
They are asked over loopback, in the form of Anthropic's and of OpenAI's API and
without tools (text); the offline brain does the same tasks.

--real has a real model do them instead: its key is taken from the environment, and
its provider is paid.`

// agentBench is bench agent.
type agentBench struct {
	*command.Env
	binary string
	tasks  []string
	forms  []string
	real   string
	keep   string
	at     int
	list   bool
}

func newBenchAgent(e *command.Env) *cobra.Command {
	b := &agentBench{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "agent", Short: "Measure an agent at work on a suite of tasks", Long: benchAgentLong,
		Example: `  callgate bench agent
  callgate bench agent --task long-file --model-form anthropic --keep /tmp/looked-at
  callgate bench agent --binary ./callgate-0.1.0          an earlier release, with the same suite
  callgate bench agent --real anthropic/claude-sonnet-4-5`,
		Args: cobra.NoArgs,
	}, b.run)
	f := c.Flags()
	f.StringVar(&b.binary, "binary", "", "measure the program `PATH` (default this one)")
	f.StringSliceVar(&b.tasks, "task", nil, "only the tasks of this `NAME` or kind; may be repeated")
	f.StringSliceVar(&b.forms, "model-form", nil,
		"only this `FORM`: anthropic, openai, text or offline, also with a kind of model: openai/codex; may be repeated")
	f.StringVar(&b.real, "real", "", "ask the real model `PROVIDER/MODEL`, with the key in the environment")
	f.StringVar(&b.keep, "keep", "", "keep workspaces, events and what was sent in `DIR`")
	f.IntVar(&b.at, "parallel", 2, "do `N` tasks at a time")
	f.BoolVar(&b.list, "list", false, "list the tasks, and do none")
	return c
}

func (b *agentBench) run(ctx context.Context, _ []string) error {
	all, err := bench.Tasks()
	if err != nil {
		return err
	}
	tasks, err := bench.Select(all, b.tasks)
	if err != nil {
		return err
	}
	if b.list {
		return b.show(tasks)
	}
	ways, err := b.ways()
	if err != nil {
		return err
	}
	binary := b.binary
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return err
		}
	} else {
		binary = b.Path(binary)
	}
	o := bench.Options{Binary: binary, Tasks: tasks, Ways: ways, Parallel: b.at}
	if b.keep != "" {
		o.Dir = b.Path(b.keep)
	}
	if !b.JSON {
		o.Done = func(o bench.Outcome) {
			if !o.OK {
				b.Status("%s, %s: wrong", o.Task, bench.Way{Form: o.Form, Model: o.Model})
			}
		}
	}
	outcomes, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	report := bench.Summarize(binary, outcomes)
	if b.JSON {
		return b.WriteJSON(report)
	}
	return command.WriteError(report.Table(b.Stdout))
}

// ways are those that are asked for.
func (b *agentBench) ways() ([]bench.Way, error) {
	if b.real != "" {
		if provider, model, ok := strings.Cut(b.real, "/"); !ok || provider == "" || model == "" {
			return nil, tool.Errorf("cli", tool.Invalid, "--real is %q", b.real).
				WithHint("write a provider and a model, such as anthropic/claude-sonnet-4-5")
		}
		return []bench.Way{{Form: "real", Model: b.real}}, nil
	}
	all := bench.Ways()
	if len(b.forms) == 0 {
		return all, nil
	}
	var some []bench.Way
	for _, name := range b.forms {
		form, model, _ := strings.Cut(name, "/")
		n := len(some)
		for _, w := range all {
			if w.Form == form && (model == "" || w.Model == model) {
				some = append(some, w)
			}
		}
		if len(some) == n {
			var known []string
			for _, w := range all {
				known = append(known, strings.TrimSuffix(w.Form+"/"+w.Model, "/"))
			}
			return nil, tool.Errorf("cli", tool.NotFound, "no form is called %q", name).
				WithHint("there are %s", strings.Join(slices.Compact(known), ", "))
		}
	}
	return some, nil
}

func (b *agentBench) show(tasks []bench.Task) error {
	if b.JSON {
		type item struct {
			Name string `json:"name"`
			Kind string `json:"kind"`
			Ask  string `json:"ask"`
		}
		items := make([]item, len(tasks))
		for i, t := range tasks {
			items[i] = item{t.Name, t.Kind, t.Ask}
		}
		return b.WriteJSON(items)
	}
	return command.WriteError(bench.List(b.Stdout, tasks))
}
