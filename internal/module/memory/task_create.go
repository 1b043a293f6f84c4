package memory

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

//go:embed task_create.md
var taskCreateDoc string

const taskCreateInput = `{
  "type": "object",
  "properties": {
    "subject": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What is to be done, in a few words."},
    "description": {"type": "string", "maxLength": 4000, "description": "What else must be known to do it."}
  },
  "required": ["subject"],
  "additionalProperties": false
}`

const taskOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "The task's id, for task_update."},
    "subject": {"type": "string"},
    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "blocked"]},
    "previous_status": {"type": "string"},
    "existed": {"type": "boolean", "description": "Whether it was there already."},
    "open": {"type": "integer", "description": "Tasks that are not completed."},
    "total": {"type": "integer", "description": "Tasks in the list."},
    "next": {"type": "string", "description": "The id of the next pending task."},
    "dropped": {"type": "array", "items": {"type": "string"}, "description": "Completed tasks that left the list to make room."}
  },
  "required": ["id", "subject", "status", "open", "total"]
}`

func taskCreateTool(s *service) definition {
	return definition{
		name: "task_create", short: "TaskCreate", doc: taskCreateDoc, input: taskCreateInput, output: taskOutput,
		examples: []tool.Example{
			module.Example("a step of the work",
				`{"subject": "Write the migration script", "description": "Batches of 1,000 rows; must be safe to run twice"}`),
		},
		aliases: []string{
			"create_task", "add_task", "add_todo", "todo_add", "todo_write", "todowrite",
			"create a task", "add a todo", "plan the steps", "make a to-do list",
			"créer une tâche", "ajouter une tâche", "planifier les étapes", "liste de tâches",
		},
		tags:    []string{"memory", "task", "todo", "plan", "mémoire", "tâche"},
		handler: handler(s, "task_create", taskCreate),
	}
}

// The statuses of a task.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	blocked    = "blocked"
)

type taskData struct {
	ID       string   `json:"id"`
	Subject  string   `json:"subject"`
	Status   string   `json:"status"`
	Previous string   `json:"previous_status,omitempty"`
	Existed  bool     `json:"existed,omitempty"`
	Open     int      `json:"open"`
	Total    int      `json:"total"`
	Next     string   `json:"next,omitempty"`
	Dropped  []string `json:"dropped,omitempty"`
}

// dataOf describes a task and the list of all tasks.
func dataOf(t *memstore.Entry, tasks []*memstore.Entry) taskData {
	data := taskData{ID: t.ID, Subject: t.Text, Status: t.Status, Open: countOpen(tasks), Total: len(tasks)}
	if next := nextTask(tasks); next != nil {
		data.Next = next.ID
	}
	return data
}

func countOpen(tasks []*memstore.Entry) int {
	n := 0
	for _, t := range tasks {
		if t.Status != completed {
			n++
		}
	}
	return n
}

// nextTask returns the first pending task, or nil.
func nextTask(tasks []*memstore.Entry) *memstore.Entry {
	for _, t := range tasks {
		if t.Status == pending {
			return t
		}
	}
	return nil
}

func taskCreate(ctx context.Context, c *memoryCall, in struct{ Subject, Description string }) (*tool.Result, error) {
	subject, err := c.cleanText("subject", in.Subject)
	if err != nil {
		return nil, err
	}
	detail, err := c.optional("description", in.Description)
	if err != nil {
		return nil, err
	}
	var data taskData
	err = c.store.Change(ctx, c.session(), func(edit *memstore.Edit) error {
		for _, t := range memstore.Tasks(edit.Entries) {
			if t.Status != completed && same(t.Text, subject) {
				if detail != "" && detail != t.Detail {
					changed := *t
					changed.Detail = detail
					t = edit.Put(changed)
				}
				data = dataOf(t, memstore.Tasks(edit.Entries))
				data.Existed = true
				return nil
			}
		}
		dropped, err := c.dropCompleted(edit)
		if err != nil {
			return err
		}
		made := edit.Put(memstore.Entry{Kind: memstore.Task, Text: subject, Detail: detail, Status: pending})
		data = dataOf(made, memstore.Tasks(edit.Entries))
		data.Dropped = dropped
		return nil
	})
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("task %s: %s (%d open)", data.ID, oneLine(data.Subject, 200), data.Open)
	if data.Existed {
		summary = fmt.Sprintf("task %s is open already: %s", data.ID, oneLine(data.Subject, 200))
	}
	return module.InWords(summary, data)
}

// dropCompleted drops completed tasks, the oldest first, until one more fits.
func (c *memoryCall) dropCompleted(edit *memstore.Edit) (dropped []string, err error) {
	tasks := memstore.Tasks(edit.Entries)
	over := len(tasks) + 1 - c.settings.MaxTodos
	for _, t := range tasks {
		if over > 0 && t.Status == completed {
			edit.Drop(t.ID)
			dropped = append(dropped, t.ID)
			over--
		}
	}
	if over > 0 {
		return nil, tool.Errorf(c.op, tool.Limited, "the list has %s, and no more than %d are kept",
			amount.Of(countOpen(tasks), "open task"), c.settings.MaxTodos).
			WithHint("complete some with memory.task_update, or take some out with memory.forget; then add this one")
	}
	return dropped, nil
}
