// Package memory is the module by which an agent remembers: set_goal,
// task_create, task_update and remember keep what the work at hand needs;
// upsert keeps what is worth knowing later; query finds it again, compact tidies
// up, and forget takes out.
//
// # Tiers
//
//	working    the goal, the tasks and the facts of this session
//	session    those of the other sessions of the same user and app, the last ten
//	knowledge  what the user's agents of this app chose to know, by key
//
// An agent writes in its own session and in the knowledge; it reads all three.
// Nothing of another user or another app is ever seen.
//
// # Law
//
//   - What a call was told is kept is on the disk, and survives the end of the
//     kernel, however that comes. See package book.
//   - Secrets are taken out before anything is kept: the values that the kernel
//     knows always, and what looks like one unless the app's file says otherwise.
//   - Everything is bounded: the number of things, the size of each, and what an
//     answer or the section of a prompt may hold.
//   - The section is data, not orders: each remembered text stands on a line of
//     its own, and tags that a model might obey are made harmless. It holds no
//     time and nothing that changes by itself, so a prompt with it stays the
//     same from turn to turn.
//   - Only what is certainly said twice is dropped. Texts that mean nearly the
//     same are shown to the agent, which can tell; a vector cannot.
package memory

import (
	"context"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/memory/rank"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "memory"

// Summarizer makes one text of several.
type Summarizer interface {
	Summarize(ctx context.Context, texts []string) (string, error)
}

// Config is how the module is set up; the zero value works.
type Config struct {
	Summarizer Summarizer // nil: compact leaves old facts as they are
}

// Module is the module as the kernel opens it.
func Module(c Config) module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "remember across turns and sessions: the goal, tasks, facts, and knowledge that can be searched",
		Settings: func() any { return defaults() },
		Open: func(h module.Host) (*module.Instance, error) {
			d := &service{shelf: memstore.Open(h.State, h.Log), ranker: rank.New(h.Embedder), summarizer: c.Summarizer, scrub: h.Scrub}
			if d.scrub == nil {
				d.scrub = func(text string) string { return text }
			}
			return &module.Instance{
				Tools: tools(d), PromptSection: d.section, OnSessionEnd: d.shelf.Ended, Close: d.shelf.Close,
				OnConversationDelete: func(p tool.Principal) error { return d.shelf.Forget(sessionOf(p)) },
			}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func tools(d *service) []*tool.Tool {
	definitions := []definition{
		setGoalTool(d),
		taskCreateTool(d),
		taskUpdateTool(d),
		rememberTool(d),
		queryTool(d),
		upsertTool(d),
		compactTool(d),
		forgetTool(d),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, def := range definitions {
		all[i] = def.tool()
	}
	return all
}

// definition is one tool as its file writes it down.
type definition struct {
	name, short   string
	doc           string
	input, output string
	examples      []tool.Example
	aliases, tags []string
	reads         bool // it changes nothing
	most          int  // bytes of its result; 0: as many as the kernel gives
	handler       tool.Handler
}

func (d definition) tool() *tool.Tool {
	// Saying a thing twice is saying it once, for all of them.
	r := tool.Runtime{Risk: tool.Low, SideEffect: tool.Write, Idempotent: true, MaxResult: d.most}
	if d.reads {
		r.SideEffect = tool.Read
	}
	return module.Definition{
		Name: d.name, Short: d.short, Doc: d.doc, Input: d.input, Output: d.output,
		Examples: d.examples, Aliases: d.aliases, Tags: d.tags, Runtime: r, Handler: d.handler,
	}.Tool(Namespace)
}

// handler makes a tool's function a handler: it decodes the arguments, which
// the kernel has already held against the schema.
func handler[In any](d *service, name string, run func(context.Context, *memoryCall, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		v := &memoryCall{service: d, op: op, by: call.Principal, settings: module.SettingsOf(grant, defaults)}
		r, err := run(ctx, v, in)
		if err == nil {
			v.warn(r)
		}
		return r, err
	})
}
