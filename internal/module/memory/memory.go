// Package memory is the module for an agent's memory: set_goal, task_create,
// task_update and remember store what the current work needs; upsert stores what
// is worth knowing later; query searches, compact cleans up, and forget deletes.
//
// # Tiers
//
//	working    the goal, the tasks, the facts and the summary of this session
//	session    those of the last ten other sessions of the same user and app
//	long_term  a summary of each session before those
//	knowledge  entries that the user's agents of this app stored for good, by key
//
// An agent writes its own session and the knowledge; it reads all four. It never
// sees anything of another user or another app.
//
// # Law
//
//   - A call succeeds when its change is stored, where it survives any end of the
//     kernel. See package memstore.
//   - Secrets are removed before a text is stored: always the values that the
//     kernel knows, and what looks like a secret unless the app file says otherwise.
//   - Everything is bounded: the number of entries, their size, and the size of a
//     result and of the section in the prompt.
//   - The section is data, not instructions: each text stands on one line, and tags
//     that a model might obey are defused. It contains no time and nothing that
//     changes by itself, so the prompt stays the same from turn to turn.
//   - Only certain duplicates are dropped. Texts that mean nearly the same are
//     listed for the agent, which can tell them apart; a vector cannot.
//   - The oldest facts of a session become part of its summary, which a model writes
//     anew each time, or stay as they are: where there is no model, or none that
//     answers, compact says so.
package memory

import (
	"context"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/internal/module/memory/rank"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "memory"

// Summarizer summarizes several texts in one.
type Summarizer interface {
	// Summarize does so for a call of the module. An error says why there is no summary; what was asked of
	// models is there all the same.
	Summarize(ctx context.Context, call tool.Call, texts []string) (Summary, error)
}

// Summary is what several texts say.
type Summary struct {
	Text     string
	Attempts []tool.Attempt // what was asked of models
}

// Config configures the module; the zero value works.
type Config struct {
	Summarizer Summarizer // nil: compact does not summarize old facts
}

// Module returns the module for the kernel to open. It ranks by meaning where the
// host has an embedder.
func Module(c Config) module.Module {
	return module.Module{
		Name:     Namespace,
		Summary:  "remember across turns and sessions: the goal, tasks, facts, and knowledge that can be searched",
		Settings: func() any { return defaults() },
		Open: func(h module.Host) (*module.Instance, error) {
			s := &service{
				store: memstore.Open(h.Documents, h.State, h.Log), ranker: rank.New(h.Embedder),
				summarizer: c.Summarizer, scrub: h.Scrub,
			}
			s.store.Shared = h.SharedApp
			if s.scrub == nil {
				s.scrub = func(text string) string { return text }
			}
			return &module.Instance{
				Tools: tools(s), PromptSection: s.section, OnSessionEnd: s.store.EndSession, Close: s.store.Close,
				OnConversationDelete: s.deleteSession,
			}, nil
		},
	}
}

// maxWait bounds reading and deleting outside a call.
const maxWait = 30 * time.Second

// deleteSession deletes what was stored for a session.
func (s *service) deleteSession(p tool.Principal) error {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	return s.store.Delete(ctx, sessionOf(p))
}

// tools returns the tools of the module. A new tool is a file, its description
// beside it, and a line here.
func tools(s *service) []*tool.Tool {
	definitions := []definition{
		setGoalTool(s),
		taskCreateTool(s),
		taskUpdateTool(s),
		rememberTool(s),
		queryTool(s),
		upsertTool(s),
		compactTool(s),
		forgetTool(s),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		all[i] = d.tool()
	}
	return all
}

// definition declares one tool.
type definition struct {
	name, short   string
	doc           string
	input, output string
	examples      []tool.Example
	aliases, tags []string
	reads         bool // the tool changes nothing
	maxResult     int  // bytes; 0 for the kernel's limit
	handler       tool.Handler
}

func (d definition) tool() *tool.Tool {
	// Every tool of the module is idempotent: a second call with the same text changes nothing.
	// The claim keeps the calls of one answer in order. In an intention mode it stops
	// nobody else: the store itself lets no two calls harm each other.
	r := tool.Runtime{
		Risk: tool.Low, SideEffect: tool.Write, Idempotent: true, MaxResult: d.maxResult,
		Effects: []tool.Effect{{Resource: "memory:", Mode: tool.IX}},
	}
	if d.reads {
		r.SideEffect, r.Effects[0].Mode = tool.Read, tool.IS
	}
	return module.Definition{
		Name: d.name, Short: d.short, Doc: d.doc, Input: d.input, Output: d.output,
		Examples: d.examples, Aliases: d.aliases, Tags: d.tags, Runtime: r, Handler: d.handler,
	}.Tool(Namespace)
}

// handler returns the handler of a tool. It decodes the arguments, which the
// kernel has already checked against the schema.
func handler[In any](
	s *service, name string, run func(context.Context, *memoryCall, In) (*tool.Result, error),
) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		c := &memoryCall{
			service: s, op: op, call: call, by: call.Principal, settings: module.SettingsOf(grant, defaults),
		}
		r, err := run(ctx, c, in)
		if err == nil {
			c.warn(r)
		}
		return r, err
	})
}
