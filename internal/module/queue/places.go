package queue

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"callgate/internal/document"
	"callgate/tool"
)

// # Queues of several kernels
//
// Kernels that share a database share what apps push that are one at all of them. The law:
//
//   - An item that such an app pushes is of all nodes. It is given to any app at the node where it was pushed, as on
//     one machine, and elsewhere only to apps that are one at all nodes. What another app pushes is of its node.
//   - Leases, delays and the order are by the time of the database, so that clocks of machines that differ give nothing
//     twice.
//   - Calls about a queue lock it at all nodes and come one after the other. A call that lost its lock, because its
//     node was taken for dead, finds that what it read has another version: it reads again, and takes what is left.

// sharedItems is where items of all nodes are.
func sharedItems() string { return document.Shared(collection) }

// maxConflicts is how often a call reads again because another changed what it read. The locks make it rare.
const maxConflicts = 20

// place finds out for whom a call is made: whether its app is one at all nodes, and what time it is.
func (q *queues) place(r *request) (err error) {
	if q.Documents == nil {
		return tool.Errorf(r.op, tool.Unavailable, "this kernel keeps no queues")
	}
	if q.Node != "" && q.SharedApp != nil && r.call.Principal.App != "" {
		if r.shared, err = q.SharedApp(r.call.Principal.App); err != nil {
			return err
		}
	}
	switch {
	case q.Now != nil:
		r.now = q.Now().UTC()
	case q.Time != nil:
		r.now, err = q.Time(r.ctx)
	default:
		r.now = time.Now().UTC()
	}
	return err
}

// mine reports whether a call is given an item of a collection.
func (q *queues) mine(r request, i item) bool {
	return i.collection != sharedItems() || r.shared || i.Node == q.Node || q.Node == ""
}

// walk visits the items that a call may have whose keys begin with a prefix, in their order. What each says may be
// large, and is kept by nobody who does not need it.
func (q *queues) walk(r request, prefix string, visit func(i item, bytes int)) error {
	own := &cursor{store: q.Documents, collection: collection, prefix: prefix}
	all := &cursor{store: q.Documents, collection: sharedItems(), prefix: prefix}
	for {
		a, err := own.peek(r.ctx)
		if err != nil {
			return err
		}
		b, err := all.peek(r.ctx)
		switch {
		case err != nil:
			return err
		case a == nil && b == nil:
			return nil
		}
		from := own
		if a == nil || b != nil && b.Key < a.Key {
			from = all
		}
		d := from.take()
		i := item{key: d.Key, version: d.Version, collection: from.collection}
		if err := json.Unmarshal(d.Data, &i); err != nil {
			return tool.Errorf(Namespace, tool.Internal, "an item cannot be read: %w", err)
		}
		if q.mine(r, i) {
			visit(i, len(d.Data))
		}
	}
}

// maxPage is how many items are read at a time, of which each may have a megabyte.
const maxPage = 64

// cursor reads a collection page by page.
type cursor struct {
	store              document.Store
	collection, prefix string
	page               []document.Document
	after              string
	ended              bool
}

// peek is the next document; nil: there is none.
func (c *cursor) peek(ctx context.Context) (*document.Document, error) {
	if len(c.page) == 0 && !c.ended {
		page, err := c.store.List(ctx, c.collection, c.prefix, c.after, maxPage)
		if err != nil {
			return nil, err
		}
		c.page, c.ended = page, len(page) < maxPage
	}
	if len(c.page) == 0 {
		return nil, nil
	}
	return &c.page[0], nil
}

// take passes over the next document.
func (c *cursor) take() document.Document {
	d := c.page[0]
	c.page, c.after = c.page[1:], d.Key
	return d
}

// change writes what prepare returns, and calls it again if another call was faster.
func (q *queues) change(r request, prepare func() ([]document.Change, error)) error {
	for attempt := 1; ; attempt++ {
		changes, err := prepare()
		if err != nil || len(changes) == 0 {
			return err
		}
		_, err = q.Documents.Write(r.ctx, changes...)
		if tool.KindOf(err) != tool.Conflict || attempt == maxConflicts {
			return err
		}
	}
}

// queue is the queue of an item.
func (i item) queue() string {
	name, _, _ := strings.Cut(i.key, "/")
	return name
}
