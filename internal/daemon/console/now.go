package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/console/calls"
	"callgate/internal/protocol"
)

// nowData is what the first page shows.
type nowData struct {
	Status  protocol.Status
	Waits   waits
	Running []runningCall
	Servers []protocol.Server
	Doubts  []protocol.Doubt
	Recent  []calls.Row
	Notes   []string // what is wrong, in words
}

// runningCall is a call that holds or waits for locks.
type runningCall struct {
	Call, Tool, Principal string
	Since                 time.Time
	Holds                 []string
	WaitsFor              string // "": it runs
}

func (c *Console) now(w http.ResponseWriter, r *http.Request) error {
	data, err := c.nowData(r.Context(), c.Client(r), c.workspace(r))
	if err != nil {
		return err
	}
	return c.show(w, r, "now", page{Title: "Now", Nav: "now", Live: "now", Data: data})
}

// nowData asks the kernel how it stands. Only a kernel that cannot be reached is an error:
// what else fails is a note on the page.
func (c *Console) nowData(ctx context.Context, k *client.Client, workspace string) (d nowData, err error) {
	if d.Status, err = k.Status(ctx); err != nil {
		return d, err
	}
	note := func(err error) {
		if err != nil {
			d.Notes = append(d.Notes, asError(err).Error())
		}
	}
	d.Notes = slices.Concat(d.Status.Warnings, d.Status.Problems)
	d.Waits = c.waits(ctx, k)
	locks, err := k.Locks(ctx)
	note(err)
	d.Running = runningCalls(locks)
	d.Doubts, err = k.Doubts(ctx, client.DoubtQuery{})
	note(err)
	found, err := calls.Read(ctx, k, calls.Filter{}, 0, 8)
	note(err)
	d.Recent = found.Rows
	s, err := c.sessions.open(ctx, k, workspace, "", time.Now())
	note(err)
	if err == nil {
		d.Notes = append(d.Notes, s.Warnings...)
		d.Servers, err = s.Servers(ctx)
		note(err)
	}
	return d, nil
}

// runningCalls puts the lock table together by calls.
func runningCalls(l protocol.Locks) []runningCall {
	by := map[string]*runningCall{}
	get := func(h protocol.LockHolder, since time.Time) *runningCall {
		if by[h.Call] == nil {
			by[h.Call] = &runningCall{Call: h.Call, Tool: h.Tool, Principal: h.Principal, Since: since}
		}
		return by[h.Call]
	}
	for _, held := range l.Held {
		one := get(held.Holder, held.Since)
		one.Holds = append(one.Holds, held.Resource)
	}
	for _, waiting := range l.Waiting {
		one := get(waiting.Holder, waiting.Since)
		one.WaitsFor = waiting.Resource + ", which " + waiting.Behind.Holder.String() + " has"
	}
	var list []runningCall
	for _, one := range by {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b runningCall) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Call, b.Call))
	})
	return list
}
