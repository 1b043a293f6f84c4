package memory

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed task_update.md
var taskUpdateDoc string

const taskUpdateInput = `{
  "type": "object",
  "properties": {
    "task_id": {"type": "string", "minLength": 1, "maxLength": 20, "description": "The task: t1, t2 …"},
    "taskId": {"type": "string", "minLength": 1, "maxLength": 20, "description": "The same as task_id."},
    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "blocked"], "description": "How it stands now."},
    "subject": {"type": "string", "maxLength": 500, "description": "Other words for it."},
    "description": {"type": "string", "maxLength": 4000, "description": "What else must be known, or why it is blocked."}
  },
  "required": ["status"],
  "additionalProperties": false
}`

func taskUpdateTool(s *service) definition {
	return definition{
		name: "task_update", short: "TaskUpdate", doc: taskUpdateDoc, input: taskUpdateInput, output: taskOutput,
		examples: []tool.Example{
			module.Example("a step is done", `{"task_id": "t1", "status": "completed"}`),
			module.Example("a step cannot go on",
				`{"task_id": "t2", "status": "blocked", "description": "waits for access to the staging database"}`),
		},
		aliases: []string{
			"update_task", "complete_task", "finish_task", "todo_update",
			"update a task", "mark a task as done", "tick off a todo", "start a task",
			"mettre à jour une tâche", "terminer une tâche", "marquer une tâche comme faite",
		},
		tags:    []string{"memory", "task", "todo", "status", "mémoire", "tâche"},
		handler: handler(s, "task_update", taskUpdate),
	}
}

type taskUpdateArgs struct {
	TaskID      string `json:"task_id"`
	TaskIDCamel string `json:"taskId"`
	Status      string `json:"status"`
	Subject     string `json:"subject"`
	Description string `json:"description"`
}

func taskUpdate(ctx context.Context, c *memoryCall, in taskUpdateArgs) (*tool.Result, error) {
	id := cmp.Or(in.TaskID, in.TaskIDCamel)
	if id == "" {
		return nil, tool.Errorf(c.op, tool.Invalid, "task_id is missing: which task is meant?").
			WithHint("give the id that task_create returned, such as t1")
	}
	subject, err := c.optional("subject", in.Subject)
	if err != nil {
		return nil, err
	}
	detail, err := c.optional("description", in.Description)
	if err != nil {
		return nil, err
	}
	var data taskData
	err = c.store.Change(ctx, c.session(), func(edit *memstore.Edit) error {
		old := edit.Find(id)
		if old == nil || old.Kind != memstore.Task {
			return c.noTask(id, memstore.Tasks(edit.Entries))
		}
		changed := *old
		changed.Status, changed.Text, changed.Detail = in.Status, cmp.Or(subject, old.Text), cmp.Or(detail, old.Detail)
		if changed.Status != old.Status || changed.Text != old.Text || changed.Detail != old.Detail {
			edit.Put(changed)
		}
		data = dataOf(&changed, memstore.Tasks(edit.Entries))
		data.Previous = old.Status
		return nil
	})
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("%s is %s: %s; %d of %d completed",
		data.ID, data.Status, oneLine(data.Subject, 100), data.Total-data.Open, data.Total)
	if data.Next != "" && data.Status == completed {
		summary += "; next is " + data.Next
	}
	return module.InWords(summary, data)
}

func (c *memoryCall) noTask(id string, tasks []*memstore.Entry) error {
	e := tool.Errorf(c.op, tool.NotFound, "this session has no task %q", tool.Truncate(id))
	if len(tasks) == 0 {
		return e.WithHint("create one first with memory.task_create")
	}
	for _, t := range tasks {
		e.Similar = append(e.Similar, t.ID)
	}
	return e.WithHint("use one of the ids in the list")
}
