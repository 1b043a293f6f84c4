package adoption

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"callgate/internal/kernel/node"
	"callgate/internal/storage/postgres/adoption"
)

// workspace is what a node has left in one folder.
type workspace struct {
	folder   string
	families map[string]*Moved // by the conversation that none is above
	loose    Moved             // what is no conversation's
	calls    map[string]string // of approvals: the call that waits
}

// collections are the documents that move: of conversations, whose IDs are their keys (the skill that is under way, and
// how often hooks fired), and those that say where they belong.
func collections() []string {
	return []string{"questions.open", "questions.done", "proposals", "pending_files", "skills/skill-runs", "hooks"}
}

// finding is what is known while it is looked what may move.
type finding struct {
	*Adopter
	dead   node.Member
	absent map[string]bool // by app file and workspace
	home   map[string]*conversation
	all    map[string]*workspace
}

// conversation is one that the dead node has, and whether it moves.
type conversation struct {
	adoption.Thing
	moves bool
}

// find returns what a node has left that this one can go on with, in the order of the folders.
func (a *Adopter) find(ctx context.Context, dead node.Member) ([]*workspace, error) {
	f := &finding{Adopter: a, dead: dead, absent: map[string]bool{}, home: map[string]*conversation{},
		all: map[string]*workspace{}}
	left := a.opt.Node.Left()
	err := left.Conversations(ctx, dead.ID, func(t adoption.Thing) {
		f.home[t.ID] = &conversation{t, f.fits(ctx, t)}
	})
	if err != nil {
		return nil, err
	}
	f.keepFamilies()
	for id, c := range f.home {
		if c.moves {
			m := f.of(id)
			m.Conversations = append(m.Conversations, id)
		}
	}
	err = left.Approvals(ctx, dead.ID, func(t adoption.Thing) {
		if m := f.place(ctx, t); m != nil {
			m.Approvals = append(m.Approvals, t.ID)
			f.at(t).calls[t.ID] = t.Call
		}
	})
	if err == nil {
		err = left.Tasks(ctx, dead.ID, func(t adoption.Thing) {
			if m := f.place(ctx, t); m != nil {
				m.Tasks = append(m.Tasks, t.ID)
			}
		})
	}
	for _, collection := range collections() {
		if err == nil {
			err = left.Documents(ctx, dead.ID, collection, func(t adoption.Thing) {
				t.Parent = t.ID // that of a skill's run is the conversation
				if m := f.place(ctx, t); m != nil {
					if m.Documents == nil {
						m.Documents = map[string][]string{}
					}
					m.Documents[collection] = append(m.Documents[collection], t.ID)
				}
			})
		}
	}
	return slices.SortedFunc(maps.Values(f.all), func(a, b *workspace) int { return cmp.Compare(a.folder, b.folder) }), err
}

// fits reports whether this node can go on with something, by where it works.
func (f *finding) fits(ctx context.Context, t adoption.Thing) bool {
	if t.Workspace == "" {
		return false
	}
	if f.opt.Shares.Among(f.dead.Shared, t.Workspace) {
		return true
	}
	if t.AppFile == "" {
		return false
	}
	key := t.AppFile + "\x00" + t.App + "\x00" + t.Workspace
	is, known := f.absent[key]
	if !known {
		is = f.opt.IsAbsent(ctx, t.Workspace, t.App, t.AppFile)
		f.absent[key] = is
	}
	return is
}

// keepFamilies keeps conversations together with those that work for them: all move, or none.
func (f *finding) keepFamilies() {
	stays := map[string]bool{}
	for id, c := range f.home {
		if !c.moves {
			stays[f.root(id)] = true
		}
	}
	for id, c := range f.home {
		c.moves = c.moves && !stays[f.root(id)]
	}
}

// root is the conversation that none is above.
func (f *finding) root(id string) string {
	for range 100 { // deeper than agents go
		c := f.home[id]
		if c == nil || c.Parent == "" || f.home[c.Parent] == nil {
			return id
		}
		id = c.Parent
	}
	return id
}

// of is the batch of a conversation that moves.
func (f *finding) of(id string) *Moved {
	root := f.root(id)
	w := f.in(f.home[root].Workspace)
	if w.families[root] == nil {
		w.families[root] = &Moved{}
	}
	return w.families[root]
}

func (f *finding) in(folder string) *workspace {
	if f.all[folder] == nil {
		f.all[folder] = &workspace{folder: folder, families: map[string]*Moved{}, calls: map[string]string{}}
	}
	return f.all[folder]
}

// place is the batch in which something moves; nil: it does not. What is a conversation's goes where that one goes.
func (f *finding) place(ctx context.Context, t adoption.Thing) *Moved {
	switch c := f.conversationOf(t); {
	case c != nil && c.moves:
		return f.of(c.ID)
	case c != nil || !f.fits(ctx, t):
		return nil
	}
	return &f.in(t.Workspace).loose
}

// at is the workspace in which something moves.
func (f *finding) at(t adoption.Thing) *workspace {
	if c := f.conversationOf(t); c != nil {
		return f.in(f.home[f.root(c.ID)].Workspace)
	}
	return f.in(t.Workspace)
}

// conversationOf is the conversation of the dead node that something belongs to; nil: none.
func (f *finding) conversationOf(t adoption.Thing) *conversation {
	if c := f.home[t.Parent]; c != nil {
		return c
	}
	return f.home[t.Session]
}

// most is how many rows a batch has, as far as what belongs together allows it.
const most = 200

// batches divides what is in a workspace. What is no conversation's comes first: the files that wait for a human
// are, and conversations work on them.
func (w *workspace) batches() []Moved {
	all := divide(w.loose)
	var now Moved
	for _, root := range slices.Sorted(maps.Keys(w.families)) {
		one := w.families[root]
		if now.Len() > 0 && now.Len()+one.Len() > most {
			all, now = append(all, now), Moved{}
		}
		join(&now, *one)
	}
	if now.Len() > 0 {
		all = append(all, now)
	}
	return all
}

func join(into *Moved, one Moved) {
	into.Conversations = append(into.Conversations, one.Conversations...)
	into.Approvals = append(into.Approvals, one.Approvals...)
	into.Tasks = append(into.Tasks, one.Tasks...)
	for collection, keys := range one.Documents {
		if into.Documents == nil {
			into.Documents = map[string][]string{}
		}
		into.Documents[collection] = append(into.Documents[collection], keys...)
	}
}

// divide divides what need not move together.
func divide(b Moved) (all []Moved) {
	for some := range slices.Chunk(b.Approvals, most) {
		all = append(all, Moved{Approvals: some})
	}
	for some := range slices.Chunk(b.Tasks, most) {
		all = append(all, Moved{Tasks: some})
	}
	for _, collection := range slices.Sorted(maps.Keys(b.Documents)) {
		for some := range slices.Chunk(b.Documents[collection], most) {
			all = append(all, Moved{Documents: map[string][]string{collection: some}})
		}
	}
	return all
}
