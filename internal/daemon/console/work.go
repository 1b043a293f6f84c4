package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"callgate/internal/client"
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
	Watchers         []watcher
	Ended            []protocol.Task // the newest
	Apps             []protocol.BackgroundApp
	Dead             []protocol.Delivery
	DeadEvents       []protocol.TriggerEvent
}

// watcher is a watcher with what its last checks gave.
type watcher struct {
	protocol.Task
	Checks, Notices int
	Preview, Error  string
	Spark           string // the points of its line
	Marks           []mark
}

// mark is a check that told something, or failed.
type mark struct {
	X, Y   int
	Failed bool
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
			d.Watchers = append(d.Watchers, watch(t))
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

// The size of a watcher's line.
const sparkWidth, sparkHeight = 140, 26

// watch reads what a watcher keeps of its checks: its line goes up with each result that is
// another than the one before.
func watch(t protocol.Task) watcher {
	one := watcher{Task: t}
	var kept struct {
		Checks  int
		Notices int
		Last    struct{ Preview, Error string }
		History []struct {
			Notified  bool
			Error     string
			Unchanged bool
		}
	}
	if json.Unmarshal(t.Data, &kept) != nil {
		return one
	}
	one.Checks, one.Notices, one.Preview, one.Error = kept.Checks, kept.Notices, kept.Last.Preview, kept.Last.Error
	if len(kept.History) == 0 {
		return one
	}
	changes, most := 0, 1
	for _, check := range kept.History {
		if !check.Unchanged {
			most++
		}
	}
	var points []string
	for i, check := range kept.History {
		if !check.Unchanged {
			changes++
		}
		x := 3 + i*(sparkWidth-6)/max(len(kept.History)-1, 1)
		y := sparkHeight - 3 - changes*(sparkHeight-6)/most
		points = append(points, strconv.Itoa(x)+","+strconv.Itoa(y))
		if check.Notified || check.Error != "" {
			one.Marks = append(one.Marks, mark{x, y, check.Error != ""})
		}
	}
	one.Spark = strings.Join(points, " ")
	return one
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
