// Package agentspawn is the module agent_spawn: the tool by which an agent starts others.
// What the tool does is internal/kernel/agents.
//
// Law: one tool, whose parameters say what it does. A call means one thing: parameters that
// contradict each other are refused, never guessed.
package agentspawn

import (
	"context"
	_ "embed"
	"time"

	"callgate/internal/module"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "agent_spawn"

//go:embed agent.md
var doc string

const input = `{"type":"object","properties":{
	"prompt":{"type":"string","minLength":1,"maxLength":50000,"description":"what the agent is to do, whole"},
	"specialist":{"type":"string","maxLength":64,"description":"one of the agents in your instructions; default: a copy of you"},
	"wait":{"type":"boolean","default":false,"description":"return when it has ended, with its result"},
	"agent_id":{"type":"string","minLength":1,"maxLength":120,"description":"an agent of yours"},
	"agent_ids":{"type":"array","items":{"type":"string","maxLength":120},"maxItems":100,` +
	`"description":"several; []: all that run"},
	"cancel":{"type":"boolean","description":"with agent_id or agent_ids: stop it"},
	"reassign":{"type":"boolean","description":"with agent_id and prompt: give it new work, whatever it does now"},
	"list_agents":{"type":"boolean","description":"list your agents"},
	"max_turns":{"type":"integer","minimum":1,"maximum":10000,"default":100,"description":"requests to its model"},
	"timeout":{"type":"number","minimum":1,"maximum":7200,"default":3600,` +
	`"description":"seconds it may take; of wait with agent_id: seconds you wait"},
	"agents":{"type":"array","minItems":1,"maxItems":20,"x-hidden":true,"items":{"type":"object","properties":{
		"prompt":{"type":"string","maxLength":50000},"specialist":{"type":"string","maxLength":64},
		"agent":{"type":"string","maxLength":64},"task":{"type":"string","maxLength":50000},
		"max_turns":{"type":"integer","minimum":1,"maximum":10000},
		"timeout":{"type":"number","minimum":1,"maximum":7200}}}},
	"run_ids":{"type":"array","items":{"type":"string","maxLength":120},"maxItems":100,"x-hidden":true}}}`

// patience bounds the tool itself: an agent that is waited for has a time of its own.
const patience = 3 * time.Hour

// Module returns the module.
func Module() module.Module {
	return module.Module{
		Name: Namespace, Summary: "give work to agents of your own",
		Open: func(h module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: []*tool.Tool{newTool(h)}}, nil
		},
	}
}

func newTool(h module.Host) *tool.Tool {
	return module.Definition{
		Name: "agent", Short: "Agent", Doc: doc, Input: input,
		Examples: []tool.Example{
			module.Example("one, and its result", `{"prompt":"Find where sessions are closed: files, lines","wait":true}`),
			module.Example("wait for all that run", `{"agent_ids":[],"wait":true}`),
		},
		Aliases: []string{"Task", "spawn_agent", "start, wait for and stop agents of your own"},
		Tags:    []string{"agent", "delegate", "specialist", "parallel", "subagent", "équipe", "déléguer"},
		Runtime: tool.Runtime{
			Risk: tool.Low, SideEffect: tool.None, Idempotent: true, Timeout: patience,
			ParamAliases: []tool.ParamAlias{
				{Name: "task", Param: "prompt", Weak: true}, {Name: "agent", Param: "specialist", Weak: true},
				{Name: "subagent_type", Param: "specialist", Weak: true}, {Name: "run_id", Param: "agent_id", Weak: true},
				{Name: "description"}, {Name: "mode"},
			},
		},
		Handler: tool.HandlerFunc(func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
			if h.Agents == nil {
				return nil, tool.Errorf(op, tool.Unavailable, "this kernel starts no agents")
			}
			r, err := Parse(call)
			if err != nil {
				return nil, err
			}
			return h.Agents(ctx, call, r)
		}),
	}.Tool(Namespace)
}
