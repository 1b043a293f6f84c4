package drive

import (
	"context"
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

// converse has an agent make several calls in one answer, on files of its own: there,
// a read that follows a write sees it.
func (g *group) converse(ctx context.Context, rng *rand.Rand) {
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
	cmd, err := g.start("client", g.Binary, "run", "-q", "-p", plan.Prompt())
	if err != nil {
		g.log.problem(Unstartable, plan.ID, err.Error())
		return
	}
	if !cmd.ended(patience) {
		cmd.kill()
		g.log.problem(history.Untold, plan.ID, fmt.Sprintf("callgate run did not end within %s", patience))
	}
	g.heardBack(plan.ID, calls)
}

// heardBack puts the calls of a plan on record as the model was told of them. What it
// was not told, because it, the kernel or the command was killed, is nobody's.
func (g *group) heardBack(plan string, calls []proposal) {
	all, err := child.ReadHeard(g.heard)
	if err != nil {
		g.log.problem(history.Untold, plan, err.Error())
	}
	heard, ok := all[plan]
	told := map[string]history.Told{}
	for i, p := range calls {
		op := p.op
		op.Told, op.Done = history.Gone, time.Now()
		if ok && heard.Results[i] != "" {
			op.Told, op.Text = history.Success, heard.Results[i]
			if kindPattern.MatchString(op.Text) {
				op.Told = toldByWords(op.Text)
			}
			op.Saw = idPattern.FindString(op.Text)
		}
		told[op.ID] = op.Told
		if op.Verb == history.Read {
			if op.Want == "" || told[op.Want] != history.Success || op.Told != history.Success {
				continue // nothing is promised
			}
		}
		g.ops.Add(1)
		g.log.add(op)
	}
}
