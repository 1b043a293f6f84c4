package library

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"callgate/internal/document"
	"callgate/internal/module/rag/chunkstore"
	"callgate/tool"
)

// # Knowledge bases of several kernels
//
// A base whose name begins with [SharedPrefix] is one for all kernels that share a database. Its law:
//
//   - It belongs to a user and an app that is one at all nodes, and not to a folder. Other apps have none, and a kernel
//     that is alone has none.
//   - An ingestion changes it at once when it ends, or not at all: a kernel that is killed before leaves it as it was.
//     Of two ingestions at once both count; where both bring a document of the same name, the one that ended last does.
//   - Names of documents are paths in the workspace of whoever ingests: folders of the same path, at whichever kernel,
//     are taken for the same folder.
//   - An index in memory is compared with the version of the base before each question.

// SharedPrefix begins the names of bases that are one at all nodes.
const SharedPrefix = "shared/"

// SharedBases keeps the bases of several kernels, by the names that they have after the prefix. It is safe for
// concurrent use.
type SharedBases interface {
	Bases(ctx context.Context, owner string) ([]chunkstore.Base, error)
	Create(ctx context.Context, owner string, b chunkstore.Base) (chunkstore.Base, error)
	Delete(ctx context.Context, base int64) error
	SharedContents
	SharedChanges
}

// SharedContents is what is in bases of several kernels, as of those in a file.
type SharedContents interface {
	Documents(ctx context.Context, base int64) ([]chunkstore.Document, error)
	IDs(ctx context.Context, base int64) ([]int64, error)
	Chunks(ctx context.Context, base, above int64, visit func(chunkstore.Chunk)) error
	ByID(ctx context.Context, base int64, ids []int64) ([]chunkstore.Chunk, error)
}

// SharedChanges changes bases of several kernels.
type SharedChanges interface {
	// Stage stores documents that nobody reads before they are published.
	Stage(ctx context.Context, base int64, ingestion string, documents []chunkstore.Stored) error
	// Publish makes all changes of an ingestion at once, and returns how many documents were removed.
	Publish(ctx context.Context, base int64, p chunkstore.Publication) (removed int, err error)
	// Discard removes what was staged.
	Discard(ctx context.Context, ingestion string) error
}

// sharedOwner is whose bases of several kernels a call reaches; "": it reaches none.
func (l *Library) sharedOwner() (string, error) {
	h, p := l.service.host, l.call.Principal
	if l.service.Shared == nil || h.SharedApp == nil || p.App == "" {
		return "", nil
	}
	if yes, err := h.SharedApp(p.App); err != nil || !yes {
		return "", err
	}
	return document.Join(p.User, p.App), nil
}

// needOwner is sharedOwner of a call that names a base of several kernels.
func (l *Library) needOwner() (string, error) {
	owner, err := l.sharedOwner()
	switch {
	case err != nil:
		return "", err
	case l.service.Shared == nil:
		return "", tool.Errorf(l.op, tool.Unavailable, "this kernel shares its database with no other").
			WithHint("name the knowledge base without %s: it is of this folder then", SharedPrefix)
	case owner == "":
		app := tool.Truncate(l.call.Principal.App)
		return "", tool.Errorf(l.op, tool.Conflict, "the app %s is not one at all nodes", app).
			WithHint("name the knowledge base without %s, or give the app file an app_id and accept it at each node "+
				"(callgate app trust)", SharedPrefix)
	}
	return owner, nil
}

// sharedBases lists the bases of several kernels that an owner has, by the names that calls use.
func sharedBases(ctx context.Context, l *Library, owner string) ([]chunkstore.Base, error) {
	if owner == "" {
		return nil, nil
	}
	all, err := l.service.Shared.Bases(ctx, owner)
	for i := range all {
		all[i].Name = SharedPrefix + all[i].Name
	}
	return all, err
}

// Bases lists the bases of the folder and those of all nodes, by name.
func (l *Library) Bases(ctx context.Context) ([]chunkstore.Base, error) {
	all, err := l.Store.Bases(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := l.sharedOwner()
	if err != nil {
		return nil, err
	}
	shared, err := sharedBases(ctx, l, owner)
	all = append(all, shared...)
	slices.SortFunc(all, func(a, b chunkstore.Base) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// Base finds a base by its name.
func (l *Library) Base(ctx context.Context, name string) (chunkstore.Base, error) {
	if !strings.HasPrefix(name, SharedPrefix) {
		return l.Store.Base(ctx, name)
	}
	owner, err := l.needOwner()
	if err != nil {
		return chunkstore.Base{}, err
	}
	all, err := sharedBases(ctx, l, owner)
	if err != nil {
		return chunkstore.Base{}, err
	}
	var names []string
	for _, b := range all {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return chunkstore.Base{}, chunkstore.Missing(name, names)
}

// Create makes a base.
func (l *Library) Create(ctx context.Context, b chunkstore.Base) (chunkstore.Base, error) {
	short, shared := strings.CutPrefix(b.Name, SharedPrefix)
	if !shared {
		return l.Store.Create(ctx, b)
	}
	owner, err := l.needOwner()
	if err != nil {
		return b, err
	}
	b.Name = short
	b, err = l.service.Shared.Create(ctx, owner, b)
	b.Name = SharedPrefix + b.Name
	return b, err
}

// Delete deletes a base with everything in it.
func (l *Library) Delete(ctx context.Context, base chunkstore.Base) error {
	if base.Shared {
		return l.service.Shared.Delete(ctx, base.ID)
	}
	return l.Store.Delete(ctx, base)
}

// Documents lists the documents of a base, by name.
func (l *Library) Documents(ctx context.Context, base chunkstore.Base) ([]chunkstore.Document, error) {
	if base.Shared {
		return l.service.Shared.Documents(ctx, base.ID)
	}
	return l.Store.Documents(ctx, base)
}

// IDs lists the numbers of a base's chunks, in their order.
func (l *Library) IDs(ctx context.Context, base chunkstore.Base) ([]int64, error) {
	if base.Shared {
		return l.service.Shared.IDs(ctx, base.ID)
	}
	return l.Store.IDs(ctx, base)
}

// Chunks visits the chunks of a base whose numbers are above a number, in the order of the numbers.
func (l *Library) Chunks(
	ctx context.Context, base chunkstore.Base, above int64, visit func(chunkstore.Chunk),
) error {
	if base.Shared {
		return l.service.Shared.Chunks(ctx, base.ID, above, visit)
	}
	return l.Store.Chunks(ctx, base, above, visit)
}

// placeOf is where a base is, as its index in memory is known by.
func placeOf(l *Library, base chunkstore.Base) string {
	if base.Shared {
		return SharedPrefix
	}
	return l.Path()
}

// hitChunks reads the chunks of hits. Those of a database are read some at a time.
type hitChunks struct {
	*Library
	all  []found
	read map[chunkKey][]chunkstore.Chunk
}

// chunkKey is a chunk among those of several bases.
type chunkKey struct {
	base string
	id   int64
}

// at returns the chunk of the hit with an index; none, if it is gone.
func (r *hitChunks) at(ctx context.Context, i int) ([]chunkstore.Chunk, error) {
	const ahead = 32
	base := r.all[i].base
	if !base.Shared {
		return r.ByID(ctx, []int64{r.all[i].hit.ID})
	}
	key := chunkKey{base.Name, r.all[i].hit.ID}
	if found, known := r.read[key]; known {
		return found, nil
	}
	var ids []int64
	for _, f := range r.all[i:] {
		if next := (chunkKey{f.base.Name, f.hit.ID}); f.base.Name == base.Name && len(ids) < ahead {
			ids, r.read[next] = append(ids, f.hit.ID), nil
		}
	}
	chunks, err := r.service.Shared.ByID(ctx, base.ID, ids)
	for _, c := range chunks {
		r.read[chunkKey{base.Name, c.ID}] = []chunkstore.Chunk{c}
	}
	return r.read[key], err
}
