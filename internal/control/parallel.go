package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// MaxParallel is the most calls of one run_parallel.
const MaxParallel = 50

// Target is a call that a control tool makes: a tool by any of its names, and its
// arguments.
type Target struct {
	Name string
	Args json.RawMessage
}

// Caller makes the calls of a control tool's call side by side, and returns their
// results in order. It reports each to done as it comes, from several goroutines. Calls
// that an earlier process made are not made again: their results are returned.
type Caller func(
	ctx context.Context, call tool.Call, targets []Target, done func(int, *tool.Result),
) ([]*tool.Result, error)

// actionKeys are the keys under which models list the calls.
var actionKeys = []string{"actions", "tasks", "calls", "tools", "invocations", "steps", "items"}

const parallelText = "Make up to 50 calls at once, and read all their results together. Each is judged by itself, " +
	"and one that fails stops no other. Calls that touch the same thing happen in the order in which they stand; " +
	"what needs the result of another belongs into a later answer."

const parallelSchema = `{"type":"object","properties":{
	"actions":{"type":"array","minItems":1,"maxItems":50,"description":"the calls",
		"items":{"type":"object","properties":{
			"name":{"type":"string","description":"a tool's name"},
			"params":{"type":"object","description":"its parameters"}}}}},
	"additionalProperties":true}`

// ParallelTool makes run_parallel.
func ParallelTool(sessions Sessions, call Caller) *tool.Tool {
	p := parallel{sessions: sessions, call: call}
	t := define(Namespace, "run_parallel", parallelText, parallelSchema, p.Execute)
	t.Handler = p
	t.Runtime.Idempotent = false // its calls decide that
	return t
}

// parallel is the handler of run_parallel.
type parallel struct {
	sessions Sessions
	call     Caller
}

// Targets reads which calls it will make, so that the gate knows what they touch.
func (parallel) Targets(args json.RawMessage) (calls []tool.Call, inPlace bool) {
	targets, err := parseActions(args)
	if err != nil {
		return nil, false
	}
	for _, t := range targets {
		calls = append(calls, tool.Call{Name: t.Name, Args: t.Args})
	}
	return calls, false
}

// ParallelItem is the result of one call of a run_parallel.
type ParallelItem struct {
	Index       int             `json:"index"`
	Name        string          `json:"name"` // of the tool, dotted
	Success     bool            `json:"success"`
	Status      tool.Status     `json:"status"`
	Data        json.RawMessage `json:"data,omitempty"`
	Error       string          `json:"error,omitempty"`
	Approval    string          `json:"approval,omitempty"` // what it waits for
	ArtifactRef string          `json:"artifact_ref,omitempty"`
}

// ParallelResults is the data of a run_parallel.
type ParallelResults struct {
	Results   []ParallelItem `json:"results"`
	Total     int            `json:"total"`
	Succeeded int            `json:"succeeded"`
	Failed    int            `json:"failed"`
	ElapsedMS int64          `json:"elapsed_ms"`
	Hint      string         `json:"hint,omitempty"`
}

// Execute makes the calls and tells of all of them. It fails only if none could be made.
func (p parallel) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	targets, err := parseActions(call.Args)
	if err != nil {
		return nil, err
	}
	s, err := p.sessions(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		if names[i], err = checkTarget(ctx, s, call.Tool, t.Name); err != nil {
			return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "call %d: %w", i+1, err).
				WithHint("nothing was run; list the calls themselves, in one list")
		}
	}
	began := time.Now()
	results, err := p.call(ctx, call, targets, progress(grant, names))
	if err != nil {
		return nil, err
	}
	return p.tell(names, results, time.Since(began))
}

// checkTarget returns the dotted name of a tool that may be called from a list. A name
// that means no tool is the gate's to answer.
func checkTarget(ctx context.Context, s Session, self tool.ID, name string) (string, error) {
	seen, err := s.Tool(ctx, name)
	switch {
	case err != nil:
		return name, nil
	case seen.ID == self:
		return "", fmt.Errorf("%s cannot call itself", self.Name)
	}
	return seen.ID.Dotted(), nil
}

// progress tells whoever watches the call of each result as it comes.
func progress(grant tool.Grant, names []string) func(int, *tool.Result) {
	ended := make(chan struct{}, len(names))
	return func(i int, r *tool.Result) {
		ended <- struct{}{}
		line := fmt.Sprintf("%d of %d: %s %s\n", len(ended), len(names), names[i], cmp.Or(r.Status, tool.Success))
		grant.Output("progress", []byte(line))
	}
}

// tell makes the one result.
func (p parallel) tell(names []string, results []*tool.Result, took time.Duration) (*tool.Result, error) {
	made := ParallelResults{Total: len(results), ElapsedMS: took.Milliseconds()}
	content := make([]tool.Content, 0, len(results))
	for i, r := range results {
		item := ParallelItem{
			Index: i, Name: names[i], Success: r.Status == tool.Success, Status: r.Status,
			Data: r.Data, Approval: r.Approval, ArtifactRef: r.ArtifactRef,
		}
		if r.Error != nil {
			item.Error = r.Error.Error()
		}
		switch r.Status {
		case tool.Success:
			made.Succeeded++
		case tool.Waiting:
		default:
			made.Failed++
		}
		made.Results = append(made.Results, item)
		head := fmt.Sprintf("[%d] %s: %s", i+1, names[i], r.Status)
		content = append(content, underHead(head, resulttext.Content(r, nil))...)
	}
	if made.Failed == made.Total {
		return nil, tool.Errorf("run_parallel", tool.Failed, "none of the %d calls succeeded: %s",
			made.Total, strings.Join(groupErrors(made.Results), "; ")).
			WithHint("mend what the errors say and make the calls again")
	}
	summary := fmt.Sprintf("%d of %d calls succeeded", made.Succeeded, made.Total)
	if waiting := made.Total - made.Succeeded - made.Failed; waiting > 0 {
		summary += fmt.Sprintf(", %d wait for a human", waiting)
	}
	if made.Failed > 0 {
		made.Hint = "the others are done: repeat only what failed. Failed: " + strings.Join(groupErrors(made.Results), "; ")
		summary += fmt.Sprintf(", %d failed", made.Failed)
	}
	result, err := tool.OK(summary, made)
	if err == nil {
		result.Content = content
	}
	return result, err
}

// underHead puts what is told of one call under a line that names it.
func underHead(head string, told []tool.Content) []tool.Content {
	if len(told) > 0 && told[0].Type == "text" {
		told[0].Text = head + "\n" + told[0].Text
		return told
	}
	return append([]tool.Content{tool.Text(head)}, told...)
}

// maxGroups is how many different errors are told.
const maxGroups = 5

// groupErrors tells each different error once, with how many calls it met, the most
// frequent first.
func groupErrors(items []ParallelItem) []string {
	count := map[string]int{}
	var order []string
	for _, item := range items {
		if item.Success || item.Status == tool.Waiting {
			continue
		}
		if count[item.Error] == 0 {
			order = append(order, item.Error)
		}
		count[item.Error]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	var lines []string
	for i, text := range order {
		if i == maxGroups {
			return append(lines, fmt.Sprintf("and %d other errors", len(order)-i))
		}
		line := tool.TruncateTo(text, 300)
		if n := count[text]; n > 1 {
			line = fmt.Sprintf("%s (%d times)", line, n)
		}
		lines = append(lines, line)
	}
	return lines
}

// parseActions reads the calls: a list under one of the keys by which models name it, or
// the text of one. Each is read as execute_tool reads its own, and one that goes by way of
// execute_tool is the call that is meant.
func parseActions(raw json.RawMessage) ([]Target, error) {
	const op = "run_parallel"
	const example = `give the calls: {"actions":[{"name":"…","params":{…}},{"name":"…","params":{…}}]}`
	var fields map[string]json.RawMessage
	if err := tool.DecodeArgs(op, raw, &fields); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(actionKeys, func(key string) bool { return len(fields[key]) > 0 })
	if i < 0 {
		return nil, tool.Errorf(op, tool.Invalid, "no calls are listed").WithHint(example)
	}
	key, value := actionKeys[i], fields[actionKeys[i]]
	var text string
	if json.Unmarshal(value, &text) == nil {
		value = json.RawMessage(text)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "%s is not a list of calls: %w", key, err).WithHint(example)
	}
	if len(items) == 0 || len(items) > MaxParallel {
		const text = "%s lists %d calls; 1 to %d can be made at once"
		return nil, tool.Errorf(op, tool.Invalid, text, key, len(items), MaxParallel).
			WithHint("split a longer list into several")
	}
	targets := make([]Target, len(items))
	for i, item := range items {
		name, args, err := target(op, item)
		if err == nil && isExecute(name) {
			name, args, err = target(op, args)
		}
		if err != nil {
			return nil, tool.Errorf(op, tool.Invalid, "call %d of %s: %w", i+1, key, err).WithHint(example)
		}
		targets[i] = Target{name, args}
	}
	return targets, nil
}

// isExecute reports whether a name is execute_tool's.
func isExecute(name string) bool {
	return name == "execute_tool" || strings.HasSuffix(name, ".execute_tool") || strings.HasSuffix(name, "__execute_tool")
}
