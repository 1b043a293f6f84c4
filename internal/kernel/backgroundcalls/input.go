package backgroundcalls

import (
	"context"
	"encoding/json"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/gate/detach"
	"callgate/internal/task"
	"callgate/tool"
)

// reach writes to the process of a task, and signals it. The end of the input and signals
// need no yes: whoever has a task may end it. It returns a result in place of the caller's
// if the text was not written.
func (c *Calls) reach(
	ctx context.Context, call tool.Call, t task.Task, r control.BackgroundRequest,
) (refused *tool.Result, err error) {
	process, err := c.process(ctx, t)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Stdin != nil && *r.Stdin != "":
		if made, err := c.callInput(ctx, call, t, process, r); err != nil || made.Status != tool.Success {
			return made, err
		}
	case r.EOF:
		if err := process.Input(nil, true); err != nil {
			return nil, err
		}
	}
	if r.Signal == "" {
		return nil, nil
	}
	return nil, process.Signal(r.Signal)
}

// callInput writes text to the process of a task by a call of the task's own tool: what
// a shell or another program is told to do by its input is judged like what it was told
// at its start. The call says what the text is judged with, and its tool writes the text
// only if that is so.
func (c *Calls) callInput(
	ctx context.Context, call tool.Call, t task.Task, process tool.Process, r control.BackgroundRequest,
) (*tool.Result, error) {
	reads, ok := process.(detach.CommandProcess)
	if !ok {
		return nil, tool.Errorf(op, tool.Unavailable, "the task %s takes no input", t.ID)
	}
	in, err := inputOf(t)
	if err != nil {
		return nil, err
	}
	s, err := c.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, err
	}
	args := map[string]any{
		"command": *r.Stdin, "input_for": t.ID, "task_command": reads.CommandLine(), "description": "input for " + t.Label,
	}
	if before := reads.Unfinished(); before != "" {
		args["unfinished"] = before
	}
	if r.EOF {
		args["eof"] = true
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the input cannot be written", Err: err}
	}
	return s.Call(ctx, gate.CallRequest{ID: gate.ChildID(call.ID), Name: in.Name, Args: raw, Parent: call.ID}), nil
}

// Process returns the process of a task of the caller's, which runs: see module.Host.
func (c *Calls) Process(ctx context.Context, call tool.Call, id string) (tool.Process, error) {
	t, err := c.find(ctx, call, id)
	if err != nil {
		return nil, err
	}
	return c.process(ctx, t)
}

func (c *Calls) process(ctx context.Context, t task.Task) (tool.Process, error) {
	in, err := inputOf(t)
	if err != nil {
		return nil, err
	}
	running := c.opt.Detach.Find(in.Call)
	if running == nil || t.State.Final() {
		return nil, tool.Errorf(op, tool.Conflict, "the task %s does not run", t.ID).
			WithHint(`see with {"task_id":%q} how it stands`, t.ID)
	}
	return running.Process(ctx)
}
