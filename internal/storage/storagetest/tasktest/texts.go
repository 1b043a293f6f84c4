package tasktest

import (
	"testing"
	"time"

	"callgate/internal/storage"
	"callgate/internal/task"
)

// keepsAnyText: what tools and people write may hold any byte, and does not keep a task from being renewed or noted.
func keepsAnyText(t *testing.T, d storage.Driver) {
	const any = "é\x00'\xff\xfe \\x41 %s"
	s := d.Stores()
	id := "a" + any
	mustCreateTask(t, d, task.Task{ID: id, Kind: any, Label: any, Parent: any})
	held := mustLease(t, d, any, id, time.Hour)
	renewed, err := s.Queue.Renew(t.Context(), []task.Renewal{{ID: id, Fence: held.Lease.Fence, Progress: any}}, time.Hour)
	if err != nil || len(renewed.Lost) > 0 {
		t.Errorf("renewed %+v, %v", renewed, err)
	}
	if err := s.TaskLogs.Append(t.Context(), id, task.Entry{Text: any}, 4); err != nil {
		t.Error(err)
	}
	if err := s.Tasks.Cancel(t.Context(), id, any); err != nil {
		t.Error(err)
	}
	got := mustTask(t, d, id)
	for name, text := range map[string]string{
		"kind": got.Kind, "label": got.Label, "parent": got.Parent, "holder": got.Lease.Holder,
		"progress": got.Progress, "who cancelled it": got.CancelledBy,
	} {
		if text != any {
			t.Errorf("%s became %q", name, text)
		}
	}
	if list, err := s.TaskLogs.Entries(t.Context(), id, 0); err != nil || len(list) != 1 || list[0].Text != any {
		t.Errorf("the log became %+v, %v", list, err)
	}
	list, err := s.Tasks.List(t.Context(), task.Query{Parent: any, Kinds: []string{any}})
	if err != nil || len(list) != 1 {
		t.Errorf("listed %v, %v", ids(list), err)
	}
}
