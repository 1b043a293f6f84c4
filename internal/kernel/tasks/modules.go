package tasks

import (
	"context"
	"encoding/json"

	"callgate/internal/module"
	"callgate/internal/task"
	"callgate/tool"
)

// maxAttempts is how often a module's task is run before it has failed.
const maxAttempts = 5

// ForModules lends the runner to modules. asker tells on whose behalf the tasks
// of a call run, and which conversation learns of their end; an empty one is
// none.
func (r *Runner) ForModules(asker func(tool.Call) (a task.Asker, conversation string, err error)) module.Tasks {
	return moduleTasks{r, asker}
}

type moduleTasks struct {
	runner *Runner
	asker  func(tool.Call) (task.Asker, string, error)
}

// Start stores a task and runs it.
func (m moduleTasks) Start(
	ctx context.Context, call tool.Call, kind string, input json.RawMessage,
) (id string, err error) {
	asker, parent, err := m.asker(call)
	if err != nil {
		return "", err
	}
	asker.Call = call.ID
	t, err := m.runner.Start(ctx, task.Task{
		ID: call.ID + "-" + kind, Kind: kind, Parent: parent, Asker: asker, Input: input, MaxAttempts: maxAttempts,
	})
	return t.ID, err
}

// Handle sets what runs tasks of a kind.
func (m moduleTasks) Handle(
	kind string, run func(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, error),
) {
	m.runner.Handle(kind, func(ctx context.Context, r *Run) task.Outcome {
		data, err := run(ctx, r.ID, r.Input)
		if err != nil {
			return Failed(err)
		}
		return task.Outcome{State: task.Done, Data: data}
	})
}

// Look has the runner see that there may be tasks which it did not start.
func (r *Runner) Look() { r.expect() }
