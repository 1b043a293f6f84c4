package schedules

import (
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/control"
	"callgate/internal/schedule"
	"callgate/internal/task"
	"callgate/tool"
)

// job is what was asked for: the input of a schedule's task.
type job struct {
	When     string          `json:"when"` // an instant, or five fields
	Timezone string          `json:"timezone"`
	Once     bool            `json:"once,omitempty"`
	Tool     string          `json:"tool,omitempty"` // dotted; "": a reminder
	Args     json.RawMessage `json:"args,omitempty"`
	Message  string          `json:"message,omitempty"`
	Name     string          `json:"name,omitempty"`
	Channel  string          `json:"output_channel,omitempty"`
	MaxRuns  int             `json:"max_runs,omitempty"`
}

// state is how a schedule stands: the data of its task.
type state struct {
	Planned time.Time       `json:"next_run"` // of the run that is next, or runs
	Runs    int             `json:"runs"`     // that have ended
	Missed  int             `json:"missed,omitempty"`
	Last    *control.JobRun `json:"last_run,omitempty"`
	// Owed are notices of the last runs, the oldest first, and Untold counts the runs
	// that nobody was told of since, because the conversation did not listen.
	Owed   []string `json:"notices,omitempty"`
	Untold int      `json:"untold,omitempty"`
}

// read reads a schedule's task.
func read(t task.Task) (j job, st state, err error) {
	data := t.Data
	if t.Outcome != nil && t.Outcome.Data != nil {
		data = t.Outcome.Data // how it stood after its last run
	}
	if err = json.Unmarshal(t.Input, &j); err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		err = tool.Errorf("schedules.read", tool.Internal, "the schedule %s cannot be read: %w", t.ID, err)
	}
	return j, st, err
}

// what says what happens.
func (j *job) what() string {
	if j.Tool == "" {
		return "reminder"
	}
	return j.Tool
}

// title names the schedule in a few words.
func (j *job) title() string {
	if j.Name == "" {
		return j.what()
	}
	return j.Name + ": " + j.what()
}

// label is the schedule in a line for people.
func (j *job) label() string {
	label := j.title()
	if j.Tool == "" {
		label += fmt.Sprintf(" %q", tool.TruncateTo(j.Message, 60))
	}
	if j.Once {
		return label + " once"
	}
	return label + " at " + j.When + " " + j.Timezone
}

// plan is when a schedule happens that does so again and again.
func (j *job) plan() (schedule.Plan, error) {
	zone, err := schedule.Zone(j.Timezone)
	if err != nil {
		return schedule.Plan{}, err
	}
	return schedule.Cron(j.When, zone)
}

// describe is a schedule's task as its owner sees it.
func describe(t task.Task) (control.Job, error) {
	j, st, err := read(t)
	if err != nil {
		return control.Job{}, err
	}
	d := control.Job{
		ID: t.ID, Name: j.Name, Label: t.Label, Type: "cron", Cron: j.When, Timezone: j.Timezone, Status: "waiting",
		Runs: st.Runs, MaxRuns: j.MaxRuns, Channel: j.Channel, Last: st.Last,
	}
	if j.Once {
		d.Type, d.Cron = "once", ""
	}
	if j.Tool == "" {
		d.Session = t.Parent
	}
	switch {
	case t.State.Final():
		d.Status = string(t.State)
	case t.State == task.Running:
		d.Status = "running"
		fallthrough
	default:
		d.NextRun = inZone(st.Planned, j.Timezone)
	}
	return d, nil
}

// inZone writes an instant as it reads in a time zone.
func inZone(t time.Time, name string) string {
	if zone, err := schedule.Zone(name); err == nil {
		t = t.In(zone)
	}
	return t.Format(time.RFC3339)
}
