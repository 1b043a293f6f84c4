package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"callgate/tool"
)

// ScheduleRequest is what is to happen later: a call, or a reminder.
type ScheduleRequest struct {
	When     string          `json:"when"`
	Action   string          `json:"action"` // the tool to be called; "": Message is said
	Args     json.RawMessage `json:"args"`
	Message  string          `json:"message"`
	Name     string          `json:"name"`
	Channel  string          `json:"output_channel"`
	MaxRuns  int             `json:"max_runs"` // 0: any number
	Timezone string          `json:"timezone"`
}

// Job is a schedule or a reminder, as its owner sees it.
type Job struct {
	ID       string  `json:"job_id"`
	Name     string  `json:"name,omitempty"`
	Label    string  `json:"label"`
	Type     string  `json:"schedule_type"` // once or cron
	Cron     string  `json:"cron_expr,omitempty"`
	Timezone string  `json:"timezone,omitempty"`
	NextRun  string  `json:"next_run,omitempty"` // in the time zone of the schedule
	Status   string  `json:"status"`             // waiting, running, or how it ended
	Runs     int     `json:"ran_count"`
	MaxRuns  int     `json:"max_runs,omitempty"`
	Channel  string  `json:"output_channel,omitempty"`
	Session  string  `json:"session_id,omitempty"` // the conversation that is told
	Last     *JobRun `json:"last_run,omitempty"`
	Replaced string  `json:"replaced,omitempty"` // the job that had its name
	Hint     string  `json:"hint,omitempty"`
}

// JobRun is one run of a job.
type JobRun struct {
	ID     string    `json:"run_id"`
	At     time.Time `json:"at"`
	Status string    `json:"status"`
	Text   string    `json:"text,omitempty"` // the beginning of what it brought
}

// Scheduler has calls made later.
type Scheduler interface {
	// Schedule adds what a call asks for. Asked again, it answers with what it added.
	Schedule(ctx context.Context, call tool.Call, r ScheduleRequest) (Job, error)
	// CancelJob cancels a job of the caller's, by its ID or its name.
	CancelJob(ctx context.Context, call tool.Call, job string) (Job, error)
	// Jobs returns the jobs of the caller's that have not ended, those that are next
	// first.
	Jobs(ctx context.Context, call tool.Call) ([]Job, error)
}

// whenSchemaText describes when, inside a schema.
const whenSchemaText = `\"in 30m\", \"in 2 hours\"; a time such as 2027-01-31T09:00 (with Z or an offset, else in ` +
	`timezone); cron with five fields such as \"0 9 * * 1-5\"; @hourly, @daily, @weekly, @monthly`

const (
	scheduleText = "Have a tool called later, once or again and again. You need not wait: it also happens when this " +
		"conversation is closed, and you are told of each result, or it goes to output_channel. Each call is judged " +
		"by the rules when it is made; one that a human must approve waits for them then. A name that is in use " +
		"replaces that job."
	remindText = "Have yourself reminded of something later, once or again and again: you are told the message, and " +
		"go on from it. Write in it what you need to know then."
	cancelScheduleText = "Cancel a job that schedule or remind made, by its job_id or its name."
	scheduleListText   = "List your schedules and reminders that have not ended: when each runs next, how often it " +
		"ran, and how the last run went."

	scheduleSchema = `{"type":"object","properties":{
		"when":{"type":"string","minLength":1,"maxLength":200,"description":"` + whenSchemaText + `"},
		"action":{"type":"string","minLength":3,"maxLength":128,"description":"the tool to call, such as filesystem.read"},
		"args":{"type":"object","description":"its parameters"},
		"name":{"type":"string","maxLength":64,"description":"what you call the job"},
		"output_channel":{"type":"string","maxLength":64,"description":"where results go; default: this conversation"},
		"max_runs":{"type":"integer","minimum":0,"default":0,"description":"end after so many runs; 0: never"},
		"timezone":{"type":"string","maxLength":64,"description":"such as Europe/Berlin; default: the app's, or UTC"}},
		"required":["when"],"additionalProperties":false}`
	remindSchema = `{"type":"object","properties":{
		"when":{"type":"string","minLength":1,"maxLength":200,"description":"` + whenSchemaText + `"},
		"message":{"type":"string","minLength":1,"maxLength":2000,"description":"what you are told then"},
		"name":{"type":"string","maxLength":64,"description":"what you call the reminder"},
		"max_runs":{"type":"integer","minimum":0,"x-hidden":true},
		"timezone":{"type":"string","maxLength":64,"description":"such as Europe/Berlin; default: the app's, or UTC"}},
		"required":["when","message"],"additionalProperties":false}`
	cancelScheduleSchema = `{"type":"object","properties":{
		"job_id":{"type":"string","maxLength":200,"description":"as schedule gave it"},
		"name":{"type":"string","maxLength":64,"description":"or the job's name"}},"additionalProperties":false}`
	scheduleListSchema = `{"type":"object","properties":{},"additionalProperties":false}`
)

// ScheduleTools makes schedule, remind, cancel_schedule and schedule_list.
func ScheduleTools(s Scheduler) []*tool.Tool {
	d := scheduling{s}
	all := []*tool.Tool{
		define(Namespace, "schedule", scheduleText, scheduleSchema, d.schedule),
		define(Namespace, "remind", remindText, remindSchema, d.remind),
		define(Namespace, "cancel_schedule", cancelScheduleText, cancelScheduleSchema, d.cancel),
		define(Namespace, "schedule_list", scheduleListText, scheduleListSchema, d.list),
	}
	for _, t := range all[:3] {
		t.Runtime.SideEffect = tool.Write // it is on record before it is answered
	}
	when := []tool.ParamAlias{
		{Name: "cron", Param: "when"}, {Name: "at", Param: "when"}, {Name: "time", Param: "when"},
		{Name: "tz", Param: "timezone"}, {Name: "description", Param: "name", Weak: true},
	}
	all[0].Runtime.ParamAliases = append([]tool.ParamAlias{
		{Name: "tool", Param: "action"}, {Name: "tool_name", Param: "action"},
		{Name: "params", Param: "args"}, {Name: "arguments", Param: "args"}, {Name: "parameters", Param: "args"},
		{Name: "input", Param: "args"}, {Name: "channel", Param: "output_channel"},
	}, when...)
	all[1].Runtime.ParamAliases = append([]tool.ParamAlias{
		{Name: "what", Param: "message"}, {Name: "text", Param: "message"},
	}, when...)
	all[2].Runtime.ParamAliases = []tool.ParamAlias{{Name: "id", Param: "job_id"}, {Name: "job", Param: "job_id"}}
	return all
}

// scheduling answers the tools.
type scheduling struct{ Scheduler }

func (d scheduling) schedule(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var r ScheduleRequest
	if err := parseArgs(call, &r); err != nil {
		return nil, err
	}
	if r.Action == "" && strings.Contains(r.Name, ".") { // the tool, as other tools call it
		r.Action, r.Name = r.Name, ""
	}
	if r.Action = strings.TrimSpace(r.Action); r.Action == "" {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "no tool is named").
			WithHint(`give it in action: {"when":"in 30m","action":"filesystem.read","args":{"path":"a.txt"}}; ` +
				"to be told something later, use remind")
	}
	return d.add(ctx, call, r)
}

func (d scheduling) remind(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var r ScheduleRequest
	if err := parseArgs(call, &r); err != nil {
		return nil, err
	}
	if strings.TrimSpace(r.Message) == "" {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "the message is empty").
			WithHint("write what you want to be told then")
	}
	return d.add(ctx, call, r)
}

func (d scheduling) add(ctx context.Context, call tool.Call, r ScheduleRequest) (*tool.Result, error) {
	job, err := d.Schedule(ctx, call, r)
	if err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("%s: %s, next at %s", job.ID, job.Label, job.NextRun), job)
}

func (d scheduling) cancel(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Job  string `json:"job_id"`
		Name string `json:"name"`
	}
	if err := parseArgs(call, &in); err != nil {
		return nil, err
	}
	if in.Job == "" {
		in.Job = in.Name
	}
	if in.Job == "" {
		return nil, tool.Errorf(call.Tool.Dotted(), tool.Invalid, "no job is named").
			WithHint("give its job_id or its name; schedule_list shows them")
	}
	job, err := d.CancelJob(ctx, call, in.Job)
	if err != nil {
		return nil, err
	}
	return tool.OK(fmt.Sprintf("%s: %s, after %d runs", job.ID, job.Status, job.Runs), struct {
		ID        string `json:"job_id"`
		Cancelled bool   `json:"cancelled"`
		Status    string `json:"status"`
		Runs      int    `json:"ran_count"`
	}{job.ID, job.Status == "cancelled", job.Status, job.Runs})
}

func (d scheduling) list(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	const most = 50
	jobs, err := d.Jobs(ctx, call)
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("%d jobs", len(jobs))
	if len(jobs) > most {
		summary += fmt.Sprintf("; the next %d are shown", most)
	}
	return tool.OK(summary, struct {
		Jobs  []Job `json:"jobs"`
		Total int   `json:"total"`
	}{append([]Job{}, jobs[:min(most, len(jobs))]...), len(jobs)})
}
