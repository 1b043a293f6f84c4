// Package queue is the module of queues between apps: an item that one app pushes is there
// until another has taken it and said that it is done.
//
// # Law
//
//   - An item is stored before push returns. It survives the kernel.
//   - Items are given in the order in which they came. Who pops one has it for a while: its
//     lease. It is gone when they acknowledge it, and there for the next when the lease is
//     over or they give it back. So an item is given at least once, and may be given twice.
//   - A receipt is of one lease. That of a lease that is over acknowledges nothing.
//   - An item that was given too often, and never acknowledged, is dead: it is listed and can
//     be deleted, and is not given any more.
//   - Queues are bounded, in items, in bytes of an item, and all together. An app that may use some queues
//     alone does not learn of others.
//   - What is shared with other kernels, and how: see places.go.
//   - What an item says is data of whoever pushed it.
package queue

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "queue"

// Module returns the module for the kernel.
func Module() module.Module {
	return module.Module{
		Name:          Namespace,
		Summary:       "queues between apps: push items, take them with a lease, acknowledge them",
		Settings:      func() any { return defaults() },
		NeedsSettings: true,
		Open: func(h module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: Tools(Config{Host: h})}, nil
		},
	}
}

// Config is what the tools need.
type Config struct {
	module.Host
	Now func() time.Time // nil: the Host's time
}

// Tools makes the tools of the module.
func Tools(c Config) []*tool.Tool {
	q := &queues{Config: c}
	var tools []*tool.Tool
	for _, d := range q.definitions() {
		tools = append(tools, d.Tool(Namespace))
	}
	return tools
}

// settings are what an app file may say about the module.
type settings struct {
	Queues      []string `constraint:"queues" help:"the queues that the app may use, by patterns of their names; all by default"`
	MaxItems    int      `constraint:"max_items" range:"1,10000" help:"how many items a queue may have"`
	MaxBytes    int      `constraint:"max_item_bytes" range:"1,1048576" help:"how many bytes an item may have, as JSON"`
	MaxAttempts int      `constraint:"max_attempts" range:"1,100" help:"how often an item is given before it counts as dead"`

	patterns []*pathglob.Pattern // made by Check
}

func defaults() *settings {
	return &settings{MaxItems: 1000, MaxBytes: 64 << 10, MaxAttempts: 5}
}

// Check reads the rules, so that a mistake is reported when the app is opened.
func (s *settings) Check() error {
	s.patterns = nil
	for _, text := range s.Queues {
		p, err := pathglob.Parse(text)
		if err != nil {
			return fmt.Errorf("the pattern %q of queues cannot be read: %w", text, err)
		}
		s.patterns = append(s.patterns, p)
	}
	return nil
}

// allows reports whether the app may use a queue.
func (s *settings) allows(name string) bool {
	for _, p := range s.patterns {
		if p.Matched(p.Step(p.Start(), name, true)) {
			return true
		}
	}
	return len(s.patterns) == 0
}

const (
	queueParam = `"queue": {
      "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$", "description": "The name of the queue."
    }`
	idsOutput = `{"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "string"}}}}`
)

//go:embed push.md
var pushDoc string

//go:embed pop.md
var popDoc string

//go:embed ack.md
var ackDoc string

//go:embed peek.md
var peekDoc string

//go:embed list.md
var listDoc string

//go:embed stats.md
var statsDoc string

//go:embed delete.md
var deleteDoc string

func object(properties, required string) string {
	return `{"type": "object", "properties": {` + properties + `}, "required": [` + required + `], "additionalProperties": false}`
}

// definitions are the tools. Each claims its queue, so that calls about one are in order.
func (q *queues) definitions() []module.Definition {
	reads := tool.Runtime{
		Effects: []tool.Effect{{Resource: "queue:{queue}", Mode: tool.S}}, Risk: tool.Low, SideEffect: tool.Read,
		Idempotent: true,
	}
	changes := tool.Runtime{
		Effects: []tool.Effect{{Resource: "queue:{queue}", Mode: tool.U}}, Risk: tool.Medium, SideEffect: tool.Write,
	}
	listing := reads
	listing.Effects = nil
	return []module.Definition{
		{Name: "push", Short: "push", Doc: pushDoc, Output: idsOutput, Runtime: changes,
			Input: object(queueParam+`, "item": {"description": "Any JSON value."},
    "delay": {"type": "integer", "minimum": 0, "maximum": 604800, "description": "Seconds until it can be taken."}`,
				`"queue", "item"`),
			Examples: []tool.Example{module.Example("work for another app", `{"queue": "reports", "item": {"month": "2026-10"}}`)},
			Aliases:  []string{"put into a queue", "enqueue", "mettre dans une file", "poner en la cola", "in eine Warteschlange stellen"},
			Tags:     []string{"queue", "push", "file"}, Handler: q.handle("push", q.push)},
		{Name: "pop", Short: "pop", Doc: popDoc, Runtime: changes,
			Input: object(queueParam+`,
    "count": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
    "lease": {"type": "integer", "minimum": 1, "maximum": 86400, "default": 300, "description": "Seconds that you have."}`,
				`"queue"`),
			Examples: []tool.Example{module.Example("the next one, for ten minutes", `{"queue": "reports", "lease": 600}`)},
			Aliases:  []string{"take from a queue", "dequeue", "prendre dans une file", "tomar de la cola", "aus einer Warteschlange nehmen"},
			Tags:     []string{"queue", "pop", "lease"}, Handler: q.handle("pop", q.pop)},
		{Name: "ack", Short: "ack", Doc: ackDoc, Output: idsOutput, Runtime: changes,
			Input: object(queueParam+`, "receipt": {"type": "string", "minLength": 1, "maxLength": 100},
    "done": {"type": "boolean", "default": true, "description": "False gives it back at once."}`, `"queue", "receipt"`),
			Examples: []tool.Example{module.Example("it is done", `{"queue": "reports", "receipt": "…"}`)},
			Aliases:  []string{"acknowledge an item", "confirmer un élément", "confirmar un elemento", "einen Eintrag bestätigen"},
			Tags:     []string{"queue", "acknowledge"}, Handler: q.handle("ack", q.ack)},
		{Name: "peek", Short: "peek", Doc: peekDoc, Runtime: reads,
			Input: object(queueParam+`,
    "count": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}`, `"queue"`),
			Examples: []tool.Example{module.Example("what comes next", `{"queue": "reports"}`)},
			Aliases:  []string{"look into a queue", "regarder une file", "mirar la cola", "in eine Warteschlange sehen"},
			Tags:     []string{"queue", "peek"}, Handler: q.handle("peek", q.peek)},
		{Name: "list", Short: "list_queues", Doc: listDoc, Runtime: listing, Input: object("", ""),
			Examples: []tool.Example{module.Example("all queues", `{}`)},
			Aliases:  []string{"which queues there are", "lister les files", "listar colas", "Warteschlangen auflisten"},
			Tags:     []string{"queue", "list"}, Handler: q.handle("list", q.list)},
		{Name: "stats", Short: "queue_stats", Doc: statsDoc, Runtime: reads, Input: object(queueParam, `"queue"`),
			Examples: []tool.Example{module.Example("how a queue stands", `{"queue": "reports"}`)},
			Aliases:  []string{"how full a queue is", "état d'une file", "estado de la cola", "Stand einer Warteschlange"},
			Tags:     []string{"queue", "stats"}, Handler: q.handle("stats", q.stats)},
		{Name: "delete", Short: "delete_from_queue", Doc: deleteDoc, Output: idsOutput, Runtime: deleting(changes),
			Input: object(queueParam+`, "ids": {"type": "array", "items": {"type": "string"}, "maxItems": 1000},
    "all": {"type": "boolean", "description": "Every item of the queue."}`, `"queue"`),
			Examples: []tool.Example{module.Example("one item", `{"queue": "reports", "ids": ["…"]}`)},
			Aliases:  []string{"empty a queue", "vider une file", "vaciar la cola", "eine Warteschlange leeren"},
			Tags:     []string{"queue", "delete"}, Handler: q.handle("delete", q.remove)},
	}
}

// deleting is what delete says of itself: what it takes away cannot be had back.
func deleting(r tool.Runtime) tool.Runtime {
	r.Risk = tool.High
	return r
}

// request is one call.
type request struct {
	ctx  context.Context
	op   string
	call tool.Call
	set  *settings

	now    time.Time
	shared bool // the app is one at all nodes
}

// handle makes a handler, which refuses a queue that the app may not use.
func (q *queues) handle(name string, run func(request, args) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
		in, err := module.Args[args](op, call)
		if err != nil {
			return nil, err
		}
		r := request{ctx: ctx, op: op, call: call, set: module.SettingsOf(g, defaults)}
		if in.Queue != "" && !r.set.allows(in.Queue) {
			return nil, tool.Errorf(op, tool.Denied, "the app may not use the queue %s", in.Queue).
				WithHint("the app file says which: tools.modules.queue.constraints.queues")
		}
		if err := q.place(&r); err != nil {
			return nil, err
		}
		return run(r, in)
	})
}
