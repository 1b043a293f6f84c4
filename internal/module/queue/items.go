package queue

import (
	"cmp"
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
	Node     string          `json:"node,omitempty"` // where it was pushed, of one that is of all nodes

	key, collection string
	version         int64
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

// write is the change that stores an item.
func (i item) write() (document.Change, error) {
	data, err := json.Marshal(i)
	return document.Change{Collection: i.collection, Key: i.key, If: i.version, Data: data}, err
}

func (i item) remove() document.Change {
	return document.Change{Collection: i.collection, Key: i.key, If: i.version}
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
	if err := q.take(r, in); err != nil {
		return nil, err
	}
	i, count := item{}, 0
	err := q.change(r, func() (changes []document.Change, err error) {
		i, count, err = q.next(r, in)
		if err != nil {
			return nil, err
		}
		change, err := i.write()
		return []document.Change{change}, err
	})
	if err != nil {
		return nil, err
	}
	return module.InWords(fmt.Sprintf("pushed %s; %s in %s", i.id(), amount.Of(count+1, "item"), in.Queue),
		map[string]any{"ids": []string{i.id()}})
}

// next is the item that a call pushes, behind all that are there, and how many those are.
func (q *queues) next(r request, in args) (i item, count int, err error) {
	last := int64(0)
	err = q.walk(r, in.Queue+"/", func(i item, _ int) {
		count++
		_, _ = fmt.Sscanf(i.id(), "%d", &last)
	})
	if err != nil {
		return i, count, err
	}
	if count >= r.set.MaxItems {
		return i, count, tool.Errorf(r.op, tool.Unavailable, "the queue %s has %d items, and %d are the most", in.Queue,
			count, r.set.MaxItems).WithHint("wait until some were acknowledged")
	}
	number := max(r.now.UnixNano(), last+1) // a clock may go back, and the order stays
	i = item{Value: in.Item, Pushed: r.now, By: r.call.Principal.App, collection: collection,
		key: fmt.Sprintf("%s/%019d", in.Queue, number)}
	if r.shared {
		i.collection, i.Node = sharedItems(), q.Node
	}
	if in.Delay > 0 {
		i.After = r.now.Add(time.Duration(in.Delay) * time.Second)
	}
	return i, count, nil
}

// maxTaken is how many bytes of items one pop takes beside the first: what does not fit into a
// result would be held by somebody who has not seen it.
const maxTaken = 24 << 10

func (q *queues) pop(r request, in args) (*tool.Result, error) {
	var taken []item
	err := q.change(r, func() (changes []document.Change, err error) {
		if taken, err = q.ready(r, in); err != nil {
			return nil, err
		}
		for _, i := range taken {
			change, err := i.write()
			if err != nil {
				return nil, err
			}
			changes = append(changes, change)
		}
		return changes, nil
	})
	if err != nil {
		return nil, err
	}
	return q.show(r, in, taken, true)
}

// ready are the next items of a queue, each with a lease for the caller.
func (q *queues) ready(r request, in args) (taken []item, err error) {
	full, size := false, 0
	err = q.walk(r, in.Queue+"/", func(i item, bytes int) {
		if full || i.state(r.now, r.set.MaxAttempts) != "ready" {
			return
		}
		if size += bytes; len(taken) > 0 && size > maxTaken {
			full = true // the next is another's, or another time's: none is passed over
			return
		}
		i.Attempts, i.Receipt = i.Attempts+1, rand.Text()
		i.Until = r.now.Add(time.Duration(cmp.Or(in.Lease, 300)) * time.Second)
		taken = append(taken, i)
		full = len(taken) == cmp.Or(in.Count, 1)
	})
	return taken, err
}

func (q *queues) peek(r request, in args) (*tool.Result, error) {
	var items []item
	if err := q.walk(r, in.Queue+"/", func(i item, _ int) {
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
			State: i.state(r.now, r.set.MaxAttempts),
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
	said := "acknowledged"
	err := q.change(r, func() ([]document.Change, error) {
		held = nil
		err := q.walk(r, in.Queue+"/", func(i item, _ int) {
			if i.Receipt == in.Receipt && r.now.Before(i.Until) {
				held = &i
			}
		})
		switch {
		case err != nil:
			return nil, err
		case held == nil:
			return nil, tool.Errorf(r.op, tool.NotFound,
				"no item of %s is held by that receipt: it was acknowledged, or its lease is over", in.Queue).
				WithHint("pop again; ask for a longer lease where the work takes longer")
		}
		change := held.remove()
		if in.Done != nil && !*in.Done {
			back := *held
			back.Receipt, back.Until, said = "", time.Time{}, "gave back"
			if change, err = back.write(); err != nil {
				return nil, err
			}
		}
		return []document.Change{change}, nil
	})
	if err != nil {
		return nil, err
	}
	return module.InWords(said+" "+held.id(), map[string]any{"ids": []string{held.id()}})
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
	err = q.walk(r, prefix, func(i item, _ int) {
		name := i.queue()
		if !r.set.allows(name) {
			return
		}
		if len(all) == 0 || all[len(all)-1].Queue != name {
			all = append(all, &counts{Queue: name, Oldest: i.Pushed})
		}
		c := all[len(all)-1]
		c.Items++
		switch i.state(r.now, r.set.MaxAttempts) {
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
	err := q.change(r, func() (changes []document.Change, err error) {
		ids = ids[:0]
		err = q.walk(r, in.Queue+"/", func(i item, _ int) {
			if in.All || slices.Contains(in.IDs, i.id()) {
				ids, changes = append(ids, i.id()), append(changes, i.remove())
			}
		})
		return changes, err
	})
	if err != nil {
		return nil, err
	}
	said := fmt.Sprintf("deleted %s of %s", amount.Of(len(ids), "item"), in.Queue)
	return module.InWords(said, map[string]any{"ids": ids})
}
