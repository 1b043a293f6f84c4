package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/journal"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/tool"
)

// The Tasks extension of the protocol: a call that takes long is answered with a task,
// which the client polls, answers and cancels. See package calls.

// The times that a client is told, in milliseconds.
const (
	taskTTL          = 24 * 60 * 60 * 1000
	taskPollInterval = 1000
)

// taskParams are the parameters of the methods of the extension.
type taskParams struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// taskResult is a task as a client is told of it.
type taskResult struct {
	sdk.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"` // working, input_required, completed, failed or cancelled
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTL            int64               `json:"ttlMs"`
	PollInterval   int64               `json:"pollIntervalMs"`
	InputRequests  sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result         sdk.Result          `json:"result,omitempty"`
	ExecutionError *jsonrpc.Error      `json:"error,omitempty"`
}

// acknowledged is the answer to a method of the extension that returns nothing.
type acknowledged struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// taskMethod answers a method of the extension.
type taskMethod = func(*client, context.Context, *sdk.ServerRequest[*taskParams]) (sdk.Result, error)

// taskMethods returns the methods of the extension.
func taskMethods() map[string]taskMethod {
	return map[string]taskMethod{
		"tasks/get": (*client).getTask, "tasks/update": (*client).updateTask, "tasks/cancel": (*client).cancelTask,
	}
}

// addTaskMethods has the SDK let the methods of the extension through. The middleware
// answers them.
func addTaskMethods(s *sdk.Server) {
	for method := range taskMethods() {
		unreached := func(context.Context, *sdk.ServerSession, *taskParams) (*taskResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no client"}
		}
		_ = sdk.AddReceivingCustomMethod(s, method, unreached) // none of them is a method of the SDK's
	}
}

// missingTasks is the error of a client that uses the extension and does not declare it.
func missingTasks() error {
	data, _ := json.Marshal(map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{calls.TasksExtension: struct{}{}}},
	})
	return &jsonrpc.Error{
		Code: -32021, Data: data,
		Message: "this method needs the extension " + calls.TasksExtension + " among the client's capabilities",
	}
}

// checkTasks reads which task a request means.
func checkTasks(r *sdk.ServerRequest[*taskParams]) (id string, err error) {
	switch {
	case !calls.SupportsTasks(r.ClientCapabilities()):
		return "", missingTasks()
	case r.Params == nil || r.Params.TaskID == "":
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "taskId is missing"}
	}
	return r.Params.TaskID, nil
}

// noTask is the error of a task that is not there, or is another client's.
func noTask(id string) error {
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInvalidParams, Message: "there is no task " + tool.Truncate(id) + ": call the tool again",
	}
}

// getTask answers tasks/get.
func (c *client) getTask(ctx context.Context, r *sdk.ServerRequest[*taskParams]) (sdk.Result, error) {
	id, err := checkTasks(r)
	if err != nil {
		return nil, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	t := c.calls.Task(id)
	if t == nil {
		if t, err = c.earlierTask(ctx, s, id); err != nil {
			return nil, err
		}
	}
	res := newTaskResult("complete", t)
	if t.Ended != nil && !t.Stopped() {
		result, err := c.result(ctx, s, t.Tool, r.ProtocolVersion(), *t.Ended)
		var refusal *jsonrpc.Error
		switch {
		case errors.As(err, &refusal):
			res.Status, res.ExecutionError = "failed", refusal
		case err != nil:
			return nil, err
		default:
			res.Result = result
		}
	}
	return res, nil
}

// ownerKind is the kind of what is kept of a task's client: who it was. The calls of
// clients are not run by the kernel's task runner, so it has ended from the beginning.
const ownerKind = "mcp"

func ownerID(call string) string { return ownerKind + "-" + call }

// keepOwner keeps whose a task is. If it cannot be kept the task is found by the client
// that has it, while that one is there.
func (c *client) keepOwner(ctx context.Context, s *session.Session, id string) {
	_, _, err := c.endpoint.kernel.Tasks.Store().Create(context.WithoutCancel(ctx), task.Task{
		ID: ownerID(id), Kind: ownerKind, Label: "the client that polls the call " + id,
		Asker: deferred.AskerOf(s, tool.Call{ID: id}), Outcome: &task.Outcome{State: task.Done},
	})
	if err != nil {
		c.endpoint.opt.Log.Warn("whose an MCP task is cannot be kept", "call", id, "error", err)
	}
}

// owns reports whether a task of an earlier kernel, or one that ended long ago, is this
// client's: of the same session, or of one that is gone and that this one follows within
// the same limits. Nobody is told the result of a tool that they do not have.
func (c *client) owns(ctx context.Context, s *session.Session, id string, records []journal.Record) (bool, error) {
	k := c.endpoint.kernel
	kept, err := k.Tasks.Store().Get(ctx, ownerID(id))
	if err != nil {
		return false, err
	}
	_, err = k.Sessions.Get(kept.Asker.Principal.Session)
	gone := err != nil
	if kept.Kind != ownerKind || !kept.Asker.OwnedBy(deferred.AskerOf(s, tool.Call{}), gone) {
		return false, nil
	}
	made, err := k.Journal.Read(ctx, journal.Query{Within: id, Kind: journal.Ended})
	if err != nil {
		return false, err
	}
	made = slices.DeleteFunc(made, func(r journal.Record) bool { // nothing ran, and there is nothing to tell
		return r.Tool == "" || r.End == nil || r.End.Status == tool.Refused
	})
	for _, r := range append(made, records[0]) { // what the call made is in its result
		if _, err := s.View().Tool(ctx, cmp.Or(r.Tool, r.Name)); err != nil {
			return false, nil
		}
	}
	return true, nil
}

// earlierTask finds a task of an earlier kernel, or one that ended long ago, in the
// journal. A call of somebody else, or of nobody knows whom, is not found.
func (c *client) earlierTask(ctx context.Context, s *session.Session, id string) (*calls.Task, error) {
	records, err := c.endpoint.kernel.Journal.Read(ctx, journal.Query{Call: id})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, noTask(id)
	}
	switch owns, err := c.owns(ctx, s, id, records); {
	case err != nil && tool.KindOf(err) != tool.NotFound:
		return nil, err
	case !owns:
		return nil, noTask(id)
	}
	result, err := s.Made(ctx, id)
	if err != nil {
		return nil, err
	}
	t := &calls.Task{
		ID: id, Tool: records[0].Name, Began: records[0].Time, Changed: records[len(records)-1].Time,
		Message: records[0].Name + " runs",
	}
	if result == nil { // a call that only reads leaves no result
		e := tool.Errorf("mcpserver.tasks", tool.Unavailable, "the result of this call is gone with the kernel that made it").
			WithHint("it changed nothing: make the call again")
		result = &tool.Result{Status: tool.Failure, Summary: e.Error(), Error: e, Call: id}
	}
	if result.Status != tool.Waiting {
		t.Ended = &calls.Outcome{Result: result}
	}
	return t, nil
}

// updateTask answers tasks/update.
func (c *client) updateTask(_ context.Context, r *sdk.ServerRequest[*taskParams]) (sdk.Result, error) {
	id, err := checkTasks(r)
	if err != nil {
		return nil, err
	}
	if !c.calls.AnswerTask(id, r.Params.InputResponses) {
		return nil, noTask(id)
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// cancelTask answers tasks/cancel.
func (c *client) cancelTask(ctx context.Context, r *sdk.ServerRequest[*taskParams]) (sdk.Result, error) {
	id, err := checkTasks(r)
	if err != nil {
		return nil, err
	}
	if !c.calls.CancelTask(id) {
		s, err := c.open(ctx)
		if err == nil {
			_, err = c.earlierTask(ctx, s, id) // it has ended, which is what the client wants
		}
		if err != nil {
			return nil, err
		}
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// newTaskResult writes how far a task is, without its result.
func newTaskResult(kind string, t *calls.Task) *taskResult {
	res := &taskResult{
		ResultType: kind, TaskID: t.ID, Status: "working", StatusMessage: t.Message,
		CreatedAt: t.Began.UTC(), LastUpdatedAt: t.Changed.UTC(), TTL: taskTTL, PollInterval: taskPollInterval,
		InputRequests: t.Questions,
	}
	switch {
	case t.Stopped():
		res.Status = "cancelled"
	case t.Ended != nil:
		res.Status = "completed"
	case len(t.Questions) > 0:
		res.Status = "input_required"
	}
	if t.Ended != nil && t.Ended.Result != nil {
		res.StatusMessage = t.Ended.Result.Summary
	}
	return res
}
