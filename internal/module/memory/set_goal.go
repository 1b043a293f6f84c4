package memory

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed set_goal.md
var setGoalDoc string

const setGoalInput = `{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "What this session is to achieve."}
  },
  "required": ["goal"],
  "additionalProperties": false
}`

const setGoalOutput = `{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "The goal as it is kept."},
    "previous": {"type": "string", "description": "The goal that it replaced."}
  },
  "required": ["goal"]
}`

func setGoalTool(s *service) definition {
	return definition{
		name: "set_goal", short: "SetGoal", doc: setGoalDoc, input: setGoalInput, output: setGoalOutput,
		examples: []tool.Example{
			module.Example("at the beginning of longer work",
				`{"goal": "Move the billing service from MySQL to Postgres without downtime"}`),
		},
		aliases: []string{
			"setgoal", "update_goal", "set_objective",
			"set a goal", "state the objective", "what we want to achieve", "remember what the user wants",
			"fixer un objectif", "définir le but", "noter l'objectif",
		},
		tags:    []string{"memory", "goal", "plan", "objective", "mémoire", "objectif", "but"},
		handler: handler(s, "set_goal", setGoal),
	}
}

type goalData struct {
	Goal     string `json:"goal"`
	Previous string `json:"previous,omitempty"`
}

func setGoal(ctx context.Context, c *memoryCall, in struct{ Goal string }) (*tool.Result, error) {
	goal, err := c.cleanText("goal", in.Goal)
	if err != nil {
		return nil, err
	}
	var data goalData
	err = c.store.Change(ctx, c.session(), func(edit *memstore.Edit) error {
		data = goalData{Goal: goal}
		if old := edit.Find(string(memstore.Goal)); old != nil {
			if old.Text == goal {
				return nil
			}
			data.Previous = old.Text
		}
		edit.Put(memstore.Entry{Kind: memstore.Goal, Text: goal})
		return nil
	})
	if err != nil {
		return nil, err
	}
	summary := "the goal is set: "
	if data.Previous != "" {
		summary = "the goal is now: "
	}
	return module.InWords(summary+oneLine(goal, 200), data)
}
