// Package toolview is the tools as one session sees them. Law: a session sees
// what its rules let it see, the same in lists, in search and on its surface;
// a surface stays the same to the byte.
package toolview

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/appmode"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/servers"
	"callgate/internal/provider/offline"
	"callgate/internal/registry"
	"callgate/internal/search"
	"callgate/internal/search/learned"
	"callgate/tool"
)

// Maker makes views. All of one kernel share it.
type Maker struct {
	Tools   *registry.Registry
	Servers *servers.Set
	Indexes *Indexes
	// Summary says in a line what a shipped module is for; empty for any other.
	Summary func(module string) string
	planner surface.Planner
}

// Usage counts the calls of a session that went well, and learns from its searches.
// It is made before the session's caller, which counts with it. The zero value
// counts, and learns nothing.
type Usage struct {
	learning *learned.Session
	mu       sync.Mutex
	calls    map[string]int // by dotted name
}

// Count counts a call that went well.
func (u *Usage) Count(t *tool.Tool) {
	if !t.Runtime.Control {
		u.learning.Succeeded(t.ID.Dotted())
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[string]int{}
	}
	u.calls[t.ID.Dotted()]++
}

func (u *Usage) snapshot() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts := make(map[string]int, len(u.calls))
	for name, n := range u.calls {
		counts[name] = n
	}
	return counts
}

// View is the tools of one session.
type View struct {
	maker  *Maker
	caller *gate.Caller
	usage  *Usage
	how    How

	mu      sync.Mutex
	catalog catalog          // what is searched, as last made
	plans   []plannedSurface // what was shown, by how it was asked for
}

// How is what an app says of showing and finding its tools.
type How struct {
	Search   func() app.Search // as it is accepted now
	Surface  app.Surface
	AppMode  *appmode.Current
	Features []string // the parts of the kernel that it turns on: see [tool.Runtime]
	// Learned returns requests that the user's searches taught, by dotted name, and a number that
	// changes whenever they do; nil: none. It is asked at each search. The map is not changed later.
	Learned func() (byTool map[string][]string, version uint64)
}

// New makes the view of a caller.
func (m *Maker) New(c *gate.Caller, u *Usage, how How) *View {
	if u.learning.Off(how.Search().NoLearn); how.Learned == nil {
		how.Learned = u.learning.Examples
	}
	return &View{maker: m, caller: c, usage: u, how: how}
}

// Tool is a tool as a session sees it.
type Tool struct {
	*tool.Tool
	Decision policy.Decision
}

// List returns what the session may call, by name. The kernel's own tools, by
// which a model finds the others, are on its surface.
func (v *View) List(ctx context.Context) ([]Tool, error) {
	tools, err := v.visible(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Tool, len(tools))
	for i, t := range tools {
		list[i] = v.Of(t)
	}
	return list, nil
}

// Callable returns the tools that a program of the session may name, by name: those that
// it may call, the kernel's own that mean something here, and those that are refused with
// a reason.
func (v *View) Callable(ctx context.Context) ([]Tool, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var list []Tool
	for t := range snap.View(v.caller.Place().Scope).All() {
		seen := v.Of(t)
		switch {
		case seen.Decision.Verdict == policy.Hide:
		case t.Runtime.Control && (!v.offersControl(t, false) || !v.caller.Sees(t)):
		default:
			list = append(list, seen)
		}
	}
	return list, nil
}

// Tool returns the one tool that a name means to the session.
func (v *View) Tool(ctx context.Context, name string) (Tool, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return Tool{}, err
	}
	in := snap.View(v.caller.Place().Scope)
	t, err := in.Resolve(name, v.caller.Sees)
	if err == nil && !v.caller.Sees(t) {
		err = in.UnknownError(name, v.caller.Sees)
	}
	if err != nil {
		return Tool{}, err
	}
	return v.Of(t), nil
}

// Denied returns the tool that a name means among those that the session is refused
// with a reason.
func (v *View) Denied(ctx context.Context, name string) (Tool, bool) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return Tool{}, false
	}
	denied := func(t *tool.Tool) bool { return v.caller.Decide(t).Verdict == policy.Deny }
	t, ok := snap.View(v.caller.Place().Scope).Denied(name, denied)
	if !ok {
		return Tool{}, false
	}
	return v.Of(t), true
}

// Of returns a tool with what the session's rules say of it.
func (v *View) Of(t *tool.Tool) Tool { return Tool{t, v.caller.Decide(t)} }

// visible returns the tools that the session sees, by name, without the
// kernel's own.
func (v *View) visible(ctx context.Context) ([]*tool.Tool, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var list []*tool.Tool
	for t := range snap.View(v.caller.Place().Scope).All() {
		if !t.Runtime.Control && !t.Runtime.Unlisted() && v.caller.Sees(t) {
			list = append(list, t)
		}
	}
	return list, nil
}

// Modules returns the modules that the session sees, the kernel's own aside.
func (v *View) Modules(ctx context.Context) ([]control.Module, error) {
	tools, err := v.visible(ctx)
	if err != nil {
		return nil, err
	}
	var modules []control.Module
	for _, t := range tools { // by name, so the tools of a module are together
		if n := len(modules); n == 0 || modules[n-1].Name != t.ID.Namespace {
			modules = append(modules, control.Module{Name: t.ID.Namespace})
		}
		m := &modules[len(modules)-1]
		m.Tools = append(m.Tools, t)
	}
	for i := range modules {
		modules[i].Summary = v.summary(modules[i])
	}
	return modules, nil
}

// summary says in a line what a module is for: its own line, or the actions
// that it has.
func (v *View) summary(m control.Module) string {
	if text := v.maker.Summary(m.Name); text != "" {
		return text
	}
	const maxNames = 6
	var names []string
	for _, t := range m.Tools[:min(maxNames, len(m.Tools))] {
		names = append(names, t.ID.Name)
	}
	text := strings.Join(names, ", ")
	if len(m.Tools) > maxNames {
		text += ", …"
	}
	return text
}

// Known reports whether a name, as a model may write it, is a tool's.
func (v *View) Known(name string) bool {
	_, err := v.Tool(context.Background(), name)
	return err == nil
}

// Registered returns a tool by its dotted name, whether the caller sees it or not; nil: there is none.
func (v *View) Registered(ctx context.Context, dotted string) (*tool.Tool, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	t, _ := snap.View(v.caller.Place().Scope).Latest(dotted)
	return t, nil
}

// Required returns the required parameters of a tool, in their order.
func (v *View) Required(name string) []string {
	t, err := v.Tool(context.Background(), name)
	var schema struct{ Required []string }
	if err != nil || json.Unmarshal(t.Spec.Input, &schema) != nil {
		return nil
	}
	return schema.Required
}

// Find finds tools for the offline model: those that a text means, and none
// where nothing answers it well.
func (v *View) Find(ctx context.Context, text string) []offline.ToolMatch {
	answer, err := v.search(ctx, search.Request{Queries: []string{text}, Limit: 5})
	if err != nil || len(answer.Answers) == 0 || len(answer.Unmatched) > 0 {
		return nil
	}
	found := []offline.ToolMatch{}
	for _, h := range answer.Answers[0].Hits {
		found = append(found, offline.ToolMatch{Name: h.Tool.ID.Dotted(), Schema: h.Tool.Spec.Input})
	}
	return found
}
