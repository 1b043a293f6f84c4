package prompted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/gate/schema"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// Models are those that one call may ask.
type Models interface {
	// Open returns a model by its name, provider/model. Its error says why it cannot be used: there
	// is no key, nobody knows the provider, a human has not accepted it. Nothing is sent.
	Open(ctx context.Context, name string) (Opened, error)
	// Recommended returns the models that a benchmark recommends for a tool, the cheapest first.
	Recommended(id tool.ID) []string
	// Default returns the model of tools that name none; "": there is none.
	Default() string
	// Limits returns the limits of each request.
	Limits() Limits
	// Choose returns why a call may not choose a model that its tool does not name; nil: it may.
	Choose(name string) error
}

// Opened is a model that can be asked.
type Opened struct {
	Model     llm.Model
	Target    llmtool.Target
	MaxOutput int    // tokens that it can write; 0: not known
	Note      string // what whoever reads its answers must know; "": nothing
}

// Limits bound one request to a model. Zero is no limit.
type Limits struct {
	FirstToken time.Duration // until the answer begins
	Total      time.Duration // until it has ended
}

// Runner runs LLM-backed tools. It is safe for concurrent use.
type Runner struct {
	// Models returns the models of a call. It is safe for concurrent use.
	Models func(call tool.Call, grant tool.Grant) Models
	// Hooks are told what happens; they must not block.
	Hooks llmtool.Hooks

	schemas schema.Cache
}

// Bind makes the tool of a definition one that runs. Any other tool runs as it is, and the hooks are told of it.
func (r *Runner) Bind(t *tool.Tool) *tool.Tool {
	d, ok := llmtool.DefinitionOf(t)
	if !ok {
		return r.watched(t)
	}
	bound := *t
	bound.Handler = &handler{runner: r, definition: d}
	return &bound
}

// handler is an LLM-backed tool.
type handler struct {
	runner     *Runner
	definition llmtool.Definition
	templates  templates
}

// Definition returns what the tool was made of.
func (h *handler) Definition() llmtool.Definition { return h.definition }

// Execute has a model do the work.
func (h *handler) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	return h.runner.run(ctx, h.definition, &h.templates, call, h.runner.Models(call, grant))
}

// Run has a model do the work of a definition of the kernel's own, which no call asks for. A failure
// of the models is in the result.
func (r *Runner) Run(
	ctx context.Context, d llmtool.Definition, args json.RawMessage, models Models,
) (*tool.Result, error) {
	return r.run(ctx, d, new(templates), tool.Call{Args: args}, models)
}

// run has a model do the work of a definition. A failure is in the result, with what was asked of
// which model.
func (r *Runner) run(
	ctx context.Context, d llmtool.Definition, parsed *templates, call tool.Call, models Models,
) (*tool.Result, error) {
	var input map[string]any
	if err := tool.DecodeArgs("prompted.run", call.Args, &input); err != nil {
		return nil, err
	}
	if input == nil {
		input = map[string]any{}
	}
	mode, _ := input["mode"].(string)
	finish, err := takeSchema(&d, input)
	if err != nil {
		return nil, err
	}
	values, err := variables(d, input)
	if err != nil {
		return nil, err
	}
	run := &run{
		runner: r, definition: d, call: call, from: models, values: values, mode: mode, finish: finish,
		tried: map[string]bool{}, templates: parsed,
	}
	if err := run.open(ctx); err != nil {
		return nil, err
	}
	out, err := run.askAll(ctx)
	if err != nil {
		failed := failure(d.ID, err)
		return &tool.Result{Status: tool.Failure, Summary: failed.Message, Error: failed, Attempts: run.attempts}, nil
	}
	return run.result(out)
}

// takeSchema takes the schema of the answer from the argument that is it, if one is, or has the
// definition make it. It returns what makes the result out of an answer; nil: the answer is it.
func takeSchema(
	d *llmtool.Definition, input map[string]any,
) (finish func(json.RawMessage) (json.RawMessage, error), err error) {
	if d.ResolveOutput != nil {
		out, err := d.ResolveOutput(input)
		if err != nil {
			return nil, tool.Errorf("prompted.run", tool.Invalid, "the tool %s cannot use its input: %w", d.ID, err)
		}
		if len(out.Schema) > 0 {
			d.OutputSchema = out.Schema
		}
		return out.Finish, nil
	}
	if d.OutputSchemaFrom == "" {
		return nil, nil
	}
	raw, err := json.Marshal(input[d.OutputSchemaFrom])
	if err == nil {
		_, err = schema.Compile(raw)
	}
	if err != nil {
		return nil, tool.Errorf("prompted.run", tool.Invalid,
			"the argument %s is no JSON Schema: %w", d.OutputSchemaFrom, err).
			WithHint("give the schema of the answer, such as {\"type\": \"object\"}")
	}
	d.OutputSchema = raw
	return nil, nil
}

// run is one call.
type run struct {
	runner     *Runner
	templates  *templates
	definition llmtool.Definition
	call       tool.Call
	from       Models
	values     map[string]any
	mode       string
	finish     func(json.RawMessage) (json.RawMessage, error) // see llmtool.Output; may be nil

	began    time.Time
	models   []candidate
	tried    map[string]bool
	attempts []tool.Attempt
	failed   []modelError
	warnings []string
}

// candidate is a model that may be asked.
type candidate struct {
	name string
	Opened
}

// modelError is why a model gave no result.
type modelError struct {
	model string
	err   error
}

// open finds the models that can be asked, before anything is sent.
func (r *run) open(ctx context.Context) error {
	names := r.order()
	if chosen := r.call.Model; chosen != "" {
		if !slices.Contains(names, chosen) {
			if err := r.from.Choose(chosen); err != nil {
				return err
			}
		}
		names = []string{chosen}
	}
	if len(names) == 0 {
		err := tool.Errorf("prompted.run", tool.Unavailable, "no model is named for the tool %s", r.definition.ID).
			WithHint("name one in its model_preference, or set tools.llm.default_model in callgate.yaml")
		r.start(candidate{})
		r.fail(candidate{}, err, false)
		return err
	}
	var reasons []string
	for _, name := range names {
		opened, err := r.from.Open(ctx, name)
		if tool.KindOf(err) == tool.Denied {
			return err // a human must say yes first; another model is no way around it
		}
		if err != nil {
			reasons = append(reasons, name+": "+err.Error())
			r.failed = append(r.failed, modelError{name, err})
			continue
		}
		r.models = append(r.models, candidate{name, opened})
	}
	orDefault := r.definition.ModelPreference.OrDefault && r.call.Model == ""
	if name := r.from.Default(); len(r.models) == 0 && orDefault && name != "" {
		if opened, err := r.from.Open(ctx, name); err == nil {
			r.models = append(r.models, candidate{name, opened})
		} else {
			reasons = append(reasons, name+": "+err.Error())
		}
	}
	if len(r.models) == 0 {
		return tool.Errorf("prompted.run", tool.Unavailable, "none of the models of %s can be asked: %s",
			r.definition.ID, strings.Join(reasons, "; ")).
			WithHint("store a key with callgate secrets set NAME, or name another model in tools.llm.default_model")
	}
	return nil
}

// order lists the models of a tool.
func (r *run) order() []string {
	id, _ := tool.TryParseID(r.definition.ID)
	names := slices.Concat(r.from.Recommended(id), r.definition.ModelPreference.Models())
	if len(names) == 0 {
		if name := r.from.Default(); name != "" {
			names = []string{name}
		}
	}
	return distinct(names)
}

func distinct(names []string) (all []string) {
	for _, name := range names {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// askAll asks one model after the other until there is a result.
func (r *run) askAll(ctx context.Context) (json.RawMessage, error) {
	r.began = time.Now()
	queue := r.models
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		if r.tried[c.name] {
			continue
		}
		r.tried[c.name] = true
		r.start(c)
		out, err := r.ask(ctx, c)
		if err == nil {
			if c.Note != "" {
				r.warnings = append(r.warnings, c.Note)
			}
			r.complete(c, out)
			return out, nil
		}
		r.failed = append(r.failed, modelError{c.name, err})
		if ctx.Err() == nil {
			queue = r.next(ctx, c, err, queue)
		} else {
			queue = nil
		}
		r.fail(c, err, len(queue) > 0)
		if len(queue) > 0 {
			r.warnings = append(r.warnings, fmt.Sprintf("%s failed, and %s was asked: %v", c.name, queue[0].name, err))
		}
	}
	return nil, r.total()
}

// next says which models are left after a failure.
func (r *run) next(ctx context.Context, c candidate, err error, queue []candidate) []candidate {
	if r.call.Model != "" {
		return nil // the caller chose one, and no other
	}
	queue = slices.DeleteFunc(slices.Clone(queue), func(o candidate) bool { return r.tried[o.name] })
	p := r.definition.ModelPreference
	switch outcomeOf(err) {
	case TooLong:
		if len(p.TooLong) > 0 {
			return r.named(ctx, p.TooLong)
		}
		// One with the same window would say the same.
		return slices.DeleteFunc(queue, func(o candidate) bool {
			return c.Target.Window > 0 && o.Target.Window > 0 && o.Target.Window <= c.Target.Window
		})
	case Refused:
		if len(p.Refused) > 0 {
			return r.named(ctx, p.Refused)
		}
	case Truncated:
		return slices.DeleteFunc(queue, func(o candidate) bool { return o.MaxOutput <= c.MaxOutput })
	}
	return queue
}

// named opens the models of a list that were not asked yet.
func (r *run) named(ctx context.Context, names []string) (list []candidate) {
	for _, name := range distinct(names) {
		if r.tried[name] {
			continue
		}
		opened, err := r.from.Open(ctx, name)
		if err != nil {
			r.failed = append(r.failed, modelError{name, err})
			continue
		}
		list = append(list, candidate{name, opened})
	}
	return list
}

// total is the error of a call for which no model gave a result.
func (r *run) total() error {
	if len(r.failed) == 1 {
		return r.failed[0].err
	}
	asked := make([]string, len(r.failed))
	for i, f := range r.failed {
		asked[i] = f.model + ": " + f.err.Error()
	}
	last := r.failed[len(r.failed)-1].err
	return &Error{
		Outcome: outcomeOf(last), Err: last,
		Message: fmt.Sprintf("it failed on all %d models: %s", len(asked), strings.Join(asked, "; ")),
	}
}

// result is what the call gives.
func (r *run) result(out json.RawMessage) (*tool.Result, error) {
	last := r.attempts[len(r.attempts)-1]
	res := &tool.Result{Status: tool.Success, Warnings: r.warnings, Attempts: r.attempts}
	if r.definition.Format() == llmtool.JSON {
		res.Data, res.Summary = out, "answered by "+last.Model
		return res, nil
	}
	var text string
	if err := json.Unmarshal(out, &text); err != nil {
		return nil, err
	}
	res.Summary, res.Content = "answered by "+last.Model, []tool.Content{tool.Text(text)}
	return res, nil
}
