package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/protocol"
)

// Tasks is what a kernel does with durable tasks.
type Tasks struct{ client *Client }

// Tasks returns the routes of tasks.
func (c *Client) Tasks() Tasks { return Tasks{c} }

// List lists tasks, the newest first.
func (t Tasks) List(ctx context.Context, q protocol.TaskQuery) ([]protocol.Task, error) {
	query := url.Values{"kind": q.Kinds}
	for name, value := range map[string]string{
		"state": string(q.State), "conversation": q.Conversation, "after": q.After,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.All {
		query.Set("all", "true")
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var list []protocol.Task
	err := t.client.get(ctx, "/v1/tasks", query, &list)
	return list, err
}

// Get returns one task.
func (t Tasks) Get(ctx context.Context, id string) (protocol.Task, error) {
	var found protocol.Task
	err := t.client.get(ctx, "/v1/tasks/"+url.PathEscape(id), nil, &found)
	return found, err
}

// Cancel asks for the end of a task, and returns it as it is then. One that takes long to
// stop still runs, and is to be cancelled.
func (t Tasks) Cancel(ctx context.Context, id string, cancel protocol.CancelTask) (protocol.Task, error) {
	var now protocol.Task
	err := t.client.do(ctx, http.MethodPost, "/v1/tasks/"+url.PathEscape(id)+"/cancel", nil, cancel, &now)
	return now, err
}

// Log returns the newest n lines of a task's log (0: all), the oldest first.
func (t Tasks) Log(ctx context.Context, id string, n int) ([]protocol.TaskEntry, error) {
	var list []protocol.TaskEntry
	query := url.Values{"n": {strconv.Itoa(max(n, 0))}}
	err := t.client.get(ctx, "/v1/tasks/"+url.PathEscape(id)+"/log", query, &list)
	return list, err
}
