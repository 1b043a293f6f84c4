package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/protocol"
	"callgate/internal/task"
	"callgate/tool"
)

// taskRoutes lists, shows and cancels durable tasks.
type taskRoutes struct{ *api }

func (a *taskRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteTasks:      a.tasks,
		protocol.RouteTask:       a.task,
		protocol.RouteCancelTask: a.cancel,
		protocol.RouteTaskLog:    a.log,
	}
}

func (a *taskRoutes) tasks(w http.ResponseWriter, r *http.Request) error {
	var limit uint64
	if err := route.Number(r, "limit", &limit); err != nil {
		return err
	}
	q := task.Query{
		Session: r.FormValue("conversation"), Kinds: r.Form["kind"], State: task.State(r.FormValue("state")),
		After: r.FormValue("after"), Newest: true, Limit: int(min(limit, task.MaxList)),
	}
	if q.State != "" && !q.State.Known() {
		return tool.Errorf("httpapi.tasks", tool.Invalid, "a task is never %q", tool.Truncate(string(q.State))).
			WithHint("use one of %v", protocol.TaskStates())
	}
	q.Active = q.State == "" && r.FormValue("all") != "true"
	list, err := a.kernel.Tasks.Store().List(r.Context(), q)
	if err != nil {
		return err
	}
	return a.answerScrubbed(w, wire.List(list, wire.Task))
}

func (a *taskRoutes) task(w http.ResponseWriter, r *http.Request) error {
	t, err := a.kernel.Tasks.Store().Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.answerScrubbed(w, wire.Task(t))
}

// stopTime is how long a request waits for a task that it cancelled to stop.
const stopTime = 5 * time.Second

func (a *taskRoutes) cancel(w http.ResponseWriter, r *http.Request) error {
	var in protocol.CancelTask
	if err := route.Read(r, &in); err != nil {
		return err
	}
	// Any process of the user may cancel a task, as it may stop a turn.
	id := r.PathValue("id")
	if err := a.kernel.Tasks.Cancel(r.Context(), id, tool.Truncate(route.Credential(r, in.By).By)); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(r.Context(), stopTime)
	defer done()
	_ = a.kernel.Tasks.Wait(ctx, id) // then it is still to be cancelled
	return a.task(w, r)
}

func (a *taskRoutes) log(w http.ResponseWriter, r *http.Request) error {
	var n uint64
	if err := route.Number(r, "n", &n); err != nil {
		return err
	}
	list, err := a.kernel.Tasks.Logs().Entries(r.Context(), r.PathValue("id"), int(min(n, task.MaxList)))
	if err != nil {
		return err
	}
	return a.answerScrubbed(w, wire.List(list, wire.TaskEntry))
}

// answerScrubbed writes a JSON body without secrets: a task keeps what it needs to run.
func (a *taskRoutes) answerScrubbed(w http.ResponseWriter, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the answer cannot be written as JSON", Err: err}
	}
	return route.Answer(w, json.RawMessage(a.kernel.Secrets.Scrub(data)))
}
