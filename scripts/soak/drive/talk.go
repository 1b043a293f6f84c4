//go:build linux

package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"callgate/scripts/soak/child"
	"callgate/scripts/soak/history"
	"callgate/tool"
)

// kindPattern finds the kind of a failure where a model reads it.
var kindPattern = regexp.MustCompile(`^(?:error: )?(invalid|not_found|ambiguous|denied|limited|busy|timeout|` +
	`cancelled|conflict|failed|unavailable|in_doubt|internal)\b`)

// toldByWords is what the words of a failed call tell.
func toldByWords(text string) history.Told {
	if m := kindPattern.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		return toldBy(tool.Kind(m[1]))
	}
	return history.NotBegun
}

// agent is a group's agent, whose conversations the commands hold.
type agent struct{ *group }

// converse has an agent make several calls in one answer, on files of its own: there,
// a read that follows a write sees it.
func (g agent) converse(ctx context.Context, rng *rand.Rand) {
	if t := g.cutOff; t != nil && rng.IntN(2) == 0 {
		g.cutOff = nil
		g.resume(t)
		return
	}
	plan := child.Plan{ID: fmt.Sprintf("P%03d_%d", g.number, g.last.Add(1))}
	var calls []proposal
	add := func(verb history.Verb, file, name, want string, args func(id string) map[string]any) string {
		p := proposal{op: g.newOp(verb, file, "conversation", name), name: name}
		p.op.Want, p.op.Unledgered = want, name == "filesystem.write"
		p.args = args(p.op.ID)
		calls = append(calls, p)
		plan.Calls = append(plan.Calls, child.PlanCall{Tool: p.wire(), Args: p.args})
		return p.op.ID
	}
	own, served := fmt.Sprintf("own%d.txt", rng.IntN(2)), fmt.Sprintf("served%d.txt", rng.IntN(2))
	delay := rng.IntN(60)
	for range 1 + rng.IntN(2) {
		id := add(history.Write, own, "filesystem.write", "", func(id string) map[string]any {
			return map[string]any{"path": own, "content": id + "\n"}
		})
		add(history.Read, own, "filesystem.read", id, func(string) map[string]any { return map[string]any{"path": own} })
		id = add(history.Write, served, "mcp_soak.put", "", func(id string) map[string]any {
			return map[string]any{"file": served, "id": id, "before": delay}
		})
		add(history.Read, served, "mcp_soak.get", id, func(string) map[string]any { return map[string]any{"file": served} })
		add(history.Append, "", "mcp_soak.append", "", func(id string) map[string]any { return map[string]any{"id": id} })
	}
	t := &turn{plan.ID, calls}
	g.take(t, plan)
}

// take takes a turn, in a conversation of its own.
func (g agent) take(t *turn, plan child.Plan) {
	if cmd := g.talk(t, "run", "-q", "-p", plan.Prompt()); cmd != nil && cmd.ProcessState.ExitCode() != 0 {
		g.cutOff = t
	}
	g.heardBack(t)
}

// turn is a turn of a conversation.
type turn struct {
	plan  string // its ID
	calls []proposal
}

// talk runs a command that speaks with the agent, to its end; nil: it has none.
func (g agent) talk(t *turn, args ...string) *process {
	cmd, err := g.start("client", g.Binary, args...)
	if err != nil {
		g.log.problem(Unstartable, t.plan, err.Error())
		return nil
	}
	if !cmd.ended(patience) {
		cmd.kill()
		g.log.problem(history.Untold, t.plan, fmt.Sprintf("callgate %s did not end within %s", args[0], patience))
		return nil
	}
	return cmd
}

// resume goes on with a turn that was cut off: no call of it may be made twice.
func (g agent) resume(t *turn) {
	cmd := g.talk(t, "sessions", "list", "--json", "-n", "20")
	if cmd == nil || cmd.ProcessState.ExitCode() != 0 {
		return
	}
	var list []struct{ ID, Title string }
	if err := json.Unmarshal(cmd.out.Bytes(), &list); err != nil {
		g.log.problem(history.Untold, t.plan, "callgate sessions list --json: "+err.Error())
		return
	}
	for _, c := range list {
		if strings.Contains(c.Title, t.plan+`"`) {
			if g.talk(t, "sessions", "resume", c.ID, "-q") != nil {
				g.heardBack(t)
			}
			return
		}
	}
}

// heardBack puts the calls of a plan on record as the model was told of them. What it
// was not told, because it, the kernel or the command was killed, is nobody's.
func (g agent) heardBack(t *turn) {
	results := g.results(t)
	told := map[string]history.Told{}
	for i, p := range t.calls {
		op := p.op
		op.Told, op.Done = history.Gone, time.Now()
		if results[i] != "" {
			op.Told, op.Text = history.Success, results[i]
			if kindPattern.MatchString(op.Text) {
				op.Told = toldByWords(op.Text)
			}
			op.Saw = idPattern.FindString(op.Text)
		}
		told[op.ID] = op.Told
		if p.later != nil {
			g.begun(t, p, op)
			continue
		}
		if op.Verb == history.Read {
			if op.Want == "" || told[op.Want] != history.Success || op.Told != history.Success {
				continue // nothing is promised
			}
		}
		g.ops.Add(1)
		g.log.add(op)
	}
}

// results are what came back for the calls of a turn; "": nothing.
func (g agent) results(t *turn) []string {
	all, err := child.ReadHeard(g.heard)
	if err != nil {
		g.log.problem(history.Untold, t.plan, err.Error())
	}
	results := make([]string, len(t.calls))
	for _, heard := range all {
		if heard.ID == t.plan && heard.Results != nil {
			results = heard.Results
		}
	}
	return results
}
