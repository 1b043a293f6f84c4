package control

import (
	"context"
	"fmt"

	"callgate/tool"
)

// Task is work that an agent's core lane does.
type Task struct {
	ID     string `json:"job"`
	Status string `json:"status"` // running, or how it ended
	Answer string `json:"answer,omitempty"`
}

// TaskTool makes core_job, by which an agent's edge lane hands deep work to its
// core lane. start begins a job; look returns its state.
func TaskTool(
	start func(ctx context.Context, call tool.Call, task string) (Task, error),
	look func(ctx context.Context, session, job string) (Task, error),
) *tool.Tool {
	const text = "Hand work that needs thought or many steps to your core lane, " +
		"which has a stronger model and works on its own. " +
		"Say in task all that it must know: it does not see this conversation. " +
		"It goes on in the background, and you are told when it has ended; answer the user meanwhile. " +
		"With job instead of task, see how a job stands."
	const schema = `{"type":"object","properties":{
		"task":{"type":"string","maxLength":20000,"description":"what is to be done, whole"},
		"job":{"type":"string","maxLength":100,"description":"a job that was begun"}}}`
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		var in struct{ Task, Job string }
		if err := parseArgs(call, &in); err != nil {
			return nil, err
		}
		var job Task
		var err error
		switch {
		case (in.Task == "") == (in.Job == ""):
			return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "give a task to begin, or a job to look at")
		case in.Task != "":
			job, err = start(ctx, call, in.Task)
		default:
			job, err = look(ctx, call.Principal.Session, in.Job)
		}
		if err != nil {
			return nil, err
		}
		return tool.OK(fmt.Sprintf("job %s: %s", job.ID, job.Status), job)
	}
	t := define(Namespace, "core_job", text, schema, run)
	t.Runtime.Idempotent = false
	return t
}
