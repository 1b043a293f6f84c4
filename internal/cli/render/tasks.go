package render

import (
	"fmt"
	"io"

	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// Tasks writes the table of tasks.
func (s Style) Tasks(w io.Writer, list []protocol.Task) error {
	rows := make([][]Cell, len(list))
	for i, t := range list {
		rows[i] = []Cell{
			Bold(t.ID), Plain(t.Kind), taskState(t), Plain(s.taskTime(t)), Plain(attempts(t)),
			Plain(t.Asker.Principal.Session), Plain(taskLabel(t)),
		}
	}
	return s.Table(w, []string{"ID", "KIND", "STATE", "WHEN", "ATTEMPT", "CONVERSATION", "LABEL"}, rows)
}

func taskState(t protocol.Task) Cell {
	switch {
	case !t.State.Final() && t.CancelledBy != "":
		return Cell{"cancelling", warn}
	case t.State == protocol.TaskFailed, t.State == protocol.TaskInDoubt:
		return Cell{text.OneLine(string(t.State)), bad}
	case t.State == protocol.TaskCancelled, t.State == protocol.TaskRunning:
		return Cell{text.OneLine(string(t.State)), warn}
	}
	return Plain(string(t.State))
}

// taskTime says when a task is due, or since when it is as it is.
func (s Style) taskTime(t protocol.Task) string {
	switch {
	case t.State.Final():
		return s.ago(t.Times.Ended)
	case t.State == protocol.TaskRunning:
		return "now"
	}
	if left := t.RunAt.Sub(s.now()); left > 0 {
		return "in " + text.Duration(left)
	}
	return "due"
}

func attempts(t protocol.Task) string {
	if t.MaxAttempts > 0 {
		return fmt.Sprintf("%d of %d", t.Attempt, t.MaxAttempts)
	}
	return fmt.Sprint(t.Attempt)
}

// taskLabel is what a task says of itself.
func taskLabel(t protocol.Task) string {
	switch {
	case t.Label != "":
		return t.Label
	case t.Progress != "":
		return t.Progress
	case t.Outcome != nil:
		return t.Outcome.Summary
	}
	return ""
}

// Task writes a task with all that is known of it.
func (s Style) Task(w io.Writer, t protocol.Task) error {
	p := &page{Style: s}
	p.printf("%s  %s\n", s.Strong(text.OneLine(t.ID)), s.Faint(text.OneLine(t.Kind)))
	state := taskState(t)
	due := ""
	if !t.State.Final() {
		due = stamp(t.RunAt) + ", " + s.taskTime(t)
	}
	p.fields(
		field{"label", text.OneLine(t.Label)},
		field{"state", s.paint(state.color, state.Text)},
		field{"due", due},
		field{"attempt", attempts(t)},
		field{"progress", text.OneLine(t.Progress)},
		field{"cancelled by", text.OneLine(t.CancelledBy)},
		field{"asked by", text.OneLine(t.Asker.Principal.String())},
		field{"call", text.OneLine(t.Asker.Call)},
		field{"workspace", visible.Text(t.Asker.Workspace)},
		field{"app file", visible.Text(t.Asker.AppFile)},
		field{"tells", text.OneLine(t.Parent)},
		field{"created", stamp(t.Times.Created)},
		field{"started", stamp(t.Times.Started)},
		field{"ended", stamp(t.Times.Ended)},
		field{"told", stamp(t.Times.Told)},
	)
	p.block("input", t.Input)
	p.block("keeps", t.Data)
	if o := t.Outcome; o != nil {
		if o.Summary != "" {
			p.printf("  %s\n", s.Faint("outcome"))
			p.indent("    ", o.Summary)
		}
		p.block("outcome data", o.Data)
		p.fields(field{"artifact", text.OneLine(o.ArtifactRef)})
	}
	return p.writeTo(w)
}

// TaskLog writes the log of a task.
func (s Style) TaskLog(w io.Writer, list []protocol.TaskEntry) error {
	p := &page{Style: s}
	for _, e := range list {
		p.printf("%s  %s", s.Faint(stamp(e.At)), text.OneLine(e.Text))
		if len(e.Data) > 0 {
			p.printf("  %s", s.Faint(text.Compact(e.Data, 200)))
		}
		p.printf("\n")
	}
	return p.writeTo(w)
}
