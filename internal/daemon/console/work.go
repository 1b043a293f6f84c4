package console

import (
	"context"
	"net/http"

	"callgate/internal/client"
	"callgate/internal/daemon/console/sparkline"
	"callgate/internal/protocol"
)

// workPages shows the work that goes on by itself.
type workPages struct{ *Console }

func (c *workPages) routes() map[string]serve {
	return map[string]serve{
		"GET /work":                   c.work,
		"POST /tasks/{id}/cancel":     c.cancel,
		"POST /deliveries/{id}/retry": c.retryDelivery,
		"POST /events/{id}/retry":     c.retryEvent,
	}
}

// workData is what the page of work shows.
type workData struct {
	Tasks, Schedules []protocol.Task
	Watchers         []sparkline.Watcher
	Ended            []protocol.Task // the newest
	Apps             []protocol.BackgroundApp
	Dead             []protocol.Delivery
	DeadEvents       []protocol.TriggerEvent
}

// endedShown is how many tasks that have ended are shown.
const endedShown = 15

func (c *workPages) work(w http.ResponseWriter, r *http.Request) error {
	data, err := readWork(r.Context(), c.Client(r))
	if err != nil {
		return err
	}
	return c.show(w, r, "work", page{Title: "Work", Nav: "work", Live: "work", Data: data})
}

// readWork asks the kernel what goes on by itself.
func readWork(ctx context.Context, k *client.Client) (d workData, err error) {
	tasks, err := k.Tasks().List(ctx, protocol.TaskQuery{})
	if err != nil {
		return d, err
	}
	for _, t := range tasks {
		switch t.Kind {
		case protocol.TaskWatch:
			d.Watchers = append(d.Watchers, sparkline.Of(t))
		case protocol.TaskSchedule:
			d.Schedules = append(d.Schedules, t)
		default:
			d.Tasks = append(d.Tasks, t)
		}
	}
	all, err := k.Tasks().List(ctx, protocol.TaskQuery{All: true, Limit: 200})
	if err != nil {
		return d, err
	}
	for _, t := range all {
		if t.State.Final() && len(d.Ended) < endedShown {
			d.Ended = append(d.Ended, t)
		}
	}
	outside := client.OutsideOf(k)
	if d.Apps, err = outside.Apps(ctx); err != nil {
		return d, err
	}
	if d.Dead, err = outside.Deliveries(ctx, true, endedShown); err != nil {
		return d, err
	}
	d.DeadEvents, err = outside.Events(ctx, true, endedShown)
	return d, err
}

func (c *workPages) cancel(w http.ResponseWriter, r *http.Request) error {
	_, err := c.Client(r).Tasks().Cancel(r.Context(), r.PathValue("id"), protocol.CancelTask{By: c.Person(r).Name})
	if err != nil {
		return err
	}
	return back(w, r, "/work")
}

func (c *workPages) retryDelivery(w http.ResponseWriter, r *http.Request) error {
	if _, err := client.OutsideOf(c.Client(r)).RetryDelivery(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return back(w, r, "/work")
}

func (c *workPages) retryEvent(w http.ResponseWriter, r *http.Request) error {
	if _, err := client.OutsideOf(c.Client(r)).RetryEvent(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return back(w, r, "/work")
}
