package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/document"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

// queues are the queues of the kernel.
type queues struct {
	Config
	room room
}

// collection is where items are: their keys are QUEUE/NUMBER, in the order in which they came.
const collection = "items"

// item is one item, as it is kept.
type item struct {
	Value    json.RawMessage `json:"item"`
	Pushed   time.Time       `json:"pushed"`
	By       string          `json:"by,omitempty"` // the app
	After    time.Time       `json:"after,omitzero"`
	Attempts int             `json:"attempts,omitempty"`
	Receipt  string          `json:"receipt,omitempty"`
	Until    time.Time       `json:"until,omitzero"` // the end of the lease

	key     string
	version int64
}

// args are those of all tools.
type args struct {
	Queue   string          `json:"queue"`
	Item    json.RawMessage `json:"item"`
	Delay   int             `json:"delay"`
	Count   int             `json:"count"`
	Lease   int             `json:"lease"`
	Receipt string          `json:"receipt"`
	Done    *bool           `json:"done"` // nil is true
	IDs     []string        `json:"ids"`
	All     bool            `json:"all"`
}

// shown is an item as a caller is given it.
type shown struct {
	ID       string          `json:"id"`
	Item     json.RawMessage `json:"item"`
	Pushed   time.Time       `json:"pushed"`
	By       string          `json:"by,omitempty"`
	Attempts int             `json:"attempts"`
	State    string          `json:"state"`
	Receipt  string          `json:"receipt,omitempty"`
	Until    time.Time       `json:"until,omitzero"`
}

func (i item) id() string { _, id, _ := strings.Cut(i.key, "/"); return id }

// state says how an item stands: ready, delayed, leased or dead.
func (i item) state(now time.Time, most int) string {
	switch {
	case i.Receipt != "" && now.Before(i.Until):
		return "leased"
	case i.Attempts >= most:
		return "dead"
	case now.Before(i.After):
		return "delayed"
	}
	return "ready"
}

// walk visits the items whose keys begin with a prefix, in their order. What each says may be
// large, and is kept by nobody who does not need it.
func (q *queues) walk(ctx context.Context, prefix string, visit func(i item, bytes int)) error {
	if q.Documents == nil {
		return tool.Errorf(Namespace, tool.Unavailable, "this kernel keeps no queues")
	}
	for after := ""; ; {
		page, err := q.Documents.List(ctx, collection, prefix, after, maxPage)
		if err != nil {
			return err
		}
		for _, d := range page {
			i := item{key: d.Key, version: d.Version}
			if err := json.Unmarshal(d.Data, &i); err != nil {
				return tool.Errorf(Namespace, tool.Internal, "an item cannot be read: %w", err)
			}
			visit(i, len(d.Data))
			after = d.Key
		}
		if len(page) < maxPage {
			return nil
		}
	}
}

// maxPage is how many items are read at a time, of which each may have a megabyte.
const maxPage = 64

// write is the change that stores an item.
func (i item) write() (document.Change, error) {
	data, err := json.Marshal(i)
	return document.Change{Collection: collection, Key: i.key, If: i.version, Data: data}, err
}

func (i item) remove() document.Change {
	return document.Change{Collection: collection, Key: i.key, If: i.version}
}

func (q *queues) push(r request, in args) (*tool.Result, error) {
	if len(in.Item) > r.set.MaxBytes {
		return nil, tool.Errorf(r.op, tool.Invalid, "the item has %s, and %s are the most",
			amount.Bytes(int64(len(in.Item))), amount.Bytes(int64(r.set.MaxBytes))).
			WithHint("push a path, or a reference to where it is")
	}
	if q.Scrub != nil && q.Scrub(string(in.Item)) != string(in.Item) {
		return nil, tool.Errorf(r.op, tool.Denied, "the item holds the value of a secret, which is not kept").
			WithHint("name a secret by reference")
	}
	count, last := 0, int64(0)
	if err := q.walk(r.ctx, in.Queue+"/", func(i item, _ int) {
		count++
		_, _ = fmt.Sscanf(i.id(), "%d", &last)
	}); err != nil {
		return nil, err
	}
	if count >= r.set.MaxItems {
		return nil, tool.Errorf(r.op, tool.Unavailable, "the queue %s has %d items, and %d are the most", in.Queue,
			count, r.set.MaxItems).WithHint("wait until some were acknowledged")
	}
	if err := q.take(r, in); err != nil {
		return nil, err
	}
	now := q.Now().UTC()
	number := max(now.UnixNano(), last+1) // a clock may go back, and the order stays
	i := item{Value: in.Item, Pushed: now, By: r.call.Principal.App, key: fmt.Sprintf("%s/%019d", in.Queue, number)}
	if in.Delay > 0 {
		i.After = now.Add(time.Duration(in.Delay) * time.Second)
	}
	change, err := i.write()
	if err == nil {
		_, err = q.Documents.Write(r.ctx, change)
	}
	if err != nil {
		return nil, err
	}
	return module.InWords(fmt.Sprintf("pushed %s; %s in %s", i.id(), amount.Of(count+1, "item"), in.Queue),
		map[string]any{"ids": []string{i.id()}})
}

// maxTaken is how many bytes of items one pop takes beside the first: what does not fit into a
// result would be held by somebody who has not seen it.
const maxTaken = 24 << 10

func (q *queues) pop(r request, in args) (*tool.Result, error) {
	now := q.Now().UTC()
	var taken []item
	full, size := false, 0
	if err := q.walk(r.ctx, in.Queue+"/", func(i item, bytes int) {
		if full || i.state(now, r.set.MaxAttempts) != "ready" {
			return
		}
		if size += bytes; len(taken) > 0 && size > maxTaken {
			full = true // the next is another's, or another time's: none is passed over
			return
		}
		i.Attempts, i.Receipt = i.Attempts+1, rand.Text()
		i.Until = now.Add(time.Duration(cmp.Or(in.Lease, 300)) * time.Second)
		taken = append(taken, i)
		full = len(taken) == cmp.Or(in.Count, 1)
	}); err != nil {
		return nil, err
	}
	var changes []document.Change
	for _, i := range taken {
		change, err := i.write()
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	if len(changes) > 0 {
		if _, err := q.Documents.Write(r.ctx, changes...); err != nil {
			return nil, err
		}
	}
	return q.show(r, in, taken, true)
}

func (q *queues) peek(r request, in args) (*tool.Result, error) {
	var items []item
	if err := q.walk(r.ctx, in.Queue+"/", func(i item, _ int) {
		if len(items) < cmp.Or(in.Count, 10) {
			items = append(items, i)
		}
	}); err != nil {
		return nil, err
	}
	return q.show(r, in, items, false)
}

// show gives items. Receipts are for who has just taken them.
func (q *queues) show(r request, in args, items []item, receipts bool) (*tool.Result, error) {
	out := []shown{}
	var text strings.Builder
	for _, i := range items {
		one := shown{
			ID: i.id(), Item: i.Value, Pushed: i.Pushed, By: i.By, Attempts: i.Attempts, Until: i.Until,
			State: i.state(q.Now(), r.set.MaxAttempts),
		}
		if receipts {
			one.Receipt = i.Receipt
			fmt.Fprintf(&text, "receipt %s, until %s\n", i.Receipt, i.Until.Format(time.RFC3339))
		}
		fmt.Fprintf(&text, "item %s, %s, pushed by %s\n%s\n", one.ID, one.State, fence.Value(cmp.Or(i.By, "a client")),
			fence.Data(string(i.Value)))
		out = append(out, one)
	}
	summary := fmt.Sprintf("%s of %s", amount.Of(len(out), "item"), in.Queue)
	if len(out) == 0 {
		summary = "nothing is ready in " + in.Queue
	}
	result, err := tool.OK(summary, map[string]any{"items": out})
	if err == nil {
		result.Content = []tool.Content{tool.Text(summary + "\n" + text.String())}
	}
	return result, err
}

func (q *queues) ack(r request, in args) (*tool.Result, error) {
	var held *item
	if err := q.walk(r.ctx, in.Queue+"/", func(i item, _ int) {
		if i.Receipt == in.Receipt && q.Now().Before(i.Until) {
			held = &i
		}
	}); err != nil {
		return nil, err
	}
	if held == nil {
		return nil, tool.Errorf(r.op, tool.NotFound,
			"no item of %s is held by that receipt: it was acknowledged, or its lease is over", in.Queue).
			WithHint("pop again; ask for a longer lease where the work takes longer")
	}
	i, said := *held, "acknowledged"
	change := i.remove()
	if in.Done != nil && !*in.Done {
		i.Receipt, i.Until, said = "", time.Time{}, "gave back"
		var err error
		if change, err = i.write(); err != nil {
			return nil, err
		}
	}
	if _, err := q.Documents.Write(r.ctx, change); err != nil {
		return nil, err
	}
	return module.InWords(said+" "+i.id(), map[string]any{"ids": []string{i.id()}})
}

// counts is how a queue stands.
type counts struct {
	Queue   string    `json:"queue"`
	Items   int       `json:"total"`
	Ready   int       `json:"ready"`
	Delayed int       `json:"delayed"`
	Leased  int       `json:"leased"`
	Dead    int       `json:"dead"`
	Oldest  time.Time `json:"oldest,omitzero"`
}

// count tells how the queues are that the app may use, of those whose keys begin with a prefix.
func (q *queues) count(r request, prefix string) (all []*counts, err error) {
	err = q.walk(r.ctx, prefix, func(i item, _ int) {
		name, _, _ := strings.Cut(i.key, "/")
		if !r.set.allows(name) {
			return
		}
		if len(all) == 0 || all[len(all)-1].Queue != name {
			all = append(all, &counts{Queue: name, Oldest: i.Pushed})
		}
		c := all[len(all)-1]
		c.Items++
		switch i.state(q.Now(), r.set.MaxAttempts) {
		case "ready":
			c.Ready++
		case "delayed":
			c.Delayed++
		case "leased":
			c.Leased++
		default:
			c.Dead++
		}
	})
	return all, err
}

func (c counts) String() string {
	return fmt.Sprintf("%s: %d ready, %d delayed, %d leased, %d dead", c.Queue, c.Ready, c.Delayed, c.Leased, c.Dead)
}

func (q *queues) list(r request, _ args) (*tool.Result, error) {
	found, err := q.count(r, "")
	if err != nil {
		return nil, err
	}
	lines := []string{amount.Of(len(found), "queue")}
	for _, c := range found {
		lines = append(lines, c.String())
	}
	return module.InWords(strings.Join(lines, "\n"), map[string]any{"queues": found})
}

func (q *queues) stats(r request, in args) (*tool.Result, error) {
	all, err := q.count(r, in.Queue+"/")
	if err != nil {
		return nil, err
	}
	found := counts{Queue: in.Queue}
	if len(all) > 0 {
		found = *all[0]
	}
	return module.InWords(found.String(), found)
}

func (q *queues) remove(r request, in args) (*tool.Result, error) {
	if in.All == (len(in.IDs) > 0) {
		return nil, tool.Errorf(r.op, tool.Invalid, "say which items: ids, or all").WithHint("queue.peek shows the ids")
	}
	ids := []string{}
	var changes []document.Change
	if err := q.walk(r.ctx, in.Queue+"/", func(i item, _ int) {
		if in.All || slices.Contains(in.IDs, i.id()) {
			ids, changes = append(ids, i.id()), append(changes, i.remove())
		}
	}); err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		if _, err := q.Documents.Write(r.ctx, changes...); err != nil {
			return nil, err
		}
	}
	said := fmt.Sprintf("deleted %s of %s", amount.Of(len(ids), "item"), in.Queue)
	return module.InWords(said, map[string]any{"ids": ids})
}
