package schedules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"callgate/internal/app"
	"callgate/internal/app/channels"
	"callgate/internal/control"
	"callgate/internal/gate/permission"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/deferred"
	"callgate/internal/kernel/session"
	"callgate/internal/schedule"
	"callgate/internal/task"
	"callgate/tool"
)

// Schedule adds what a call asks for.
func (s *Scheduler) Schedule(ctx context.Context, call tool.Call, r control.ScheduleRequest) (control.Job, error) {
	own, settings, err := s.open(call)
	if err != nil {
		return control.Job{}, err
	}
	if t, err := s.find(ctx, own, jobID(call.ID)); err == nil {
		return describe(t) // the same call asked before
	}
	t, j, hint, err := s.plan(ctx, own, settings, call, r)
	if err != nil {
		return control.Job{}, err
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	replaced, err := s.makeRoom(ctx, own, settings, j.Name)
	if err != nil {
		return control.Job{}, err
	}
	stored, err := s.opt.Runner.Start(ctx, t)
	if err != nil {
		return control.Job{}, err
	}
	s.jobs.add(stored, j.Name)
	d, err := describe(stored)
	d.Replaced, d.Hint = replaced, hint
	return d, err
}

// open returns the session of a call, and what its app says of schedules.
func (s *Scheduler) open(call tool.Call) (*session.Session, app.Scheduler, error) {
	const op = "schedules.open"
	own, err := s.opt.Session(call.Principal.Session)
	if err != nil {
		return nil, app.Scheduler{}, err
	}
	a := own.App()
	if a == nil || a.Runtime.Scheduler == nil {
		return nil, app.Scheduler{}, tool.Errorf(op, tool.NotFound, "nothing is scheduled in this app").
			WithHint("the user turns it on in the app file: runtime: {scheduler: true}")
	}
	if !slices.Contains(own.Loaded().Features, app.FeatureScheduler) {
		return nil, app.Scheduler{}, consent.Needed(op, consent.Feature(a, app.FeatureScheduler))
	}
	return own, *a.Runtime.Scheduler, nil
}

// plan reads what is asked for, and makes the task of it.
func (s *Scheduler) plan(
	ctx context.Context, own *session.Session, settings app.Scheduler, call tool.Call, r control.ScheduleRequest,
) (t task.Task, j job, hint string, err error) {
	if r.Timezone == "" {
		r.Timezone = settings.Timezone
	}
	zone, err := schedule.Zone(r.Timezone)
	if err != nil {
		return t, j, "", err
	}
	when, err := schedule.Parse(r.When, schedule.Options{Now: s.opt.Now(), Zone: zone})
	if err != nil {
		return t, j, "", err
	}
	j = job{
		When: when.String(), Timezone: zone.String(), Once: when.Once(), Message: r.Message, MaxRuns: r.MaxRuns,
		Name: strings.TrimSpace(r.Name), Channel: strings.TrimSpace(r.Channel),
	}
	if j.Channel == "" && r.Action != "" {
		j.Channel = own.App().Runtime.DefaultChannel
	}
	if channels.IsConversation(j.Channel) {
		j.Channel = ""
	}
	if err := j.check(); err != nil {
		return t, j, "", err
	}
	parent := ""
	if s.opt.IsConversation(own.ID()) {
		parent = own.ID()
	}
	if hint, err = s.aim(ctx, own, &j, r, parent); err != nil {
		return t, j, "", err
	}
	due := when.At()
	if !when.Once() {
		due, _ = when.Next(s.opt.Now())
	}
	input, err := json.Marshal(j)
	if err != nil {
		return t, j, "", err
	}
	data, err := json.Marshal(state{Planned: due})
	return task.Task{
		ID: jobID(call.ID), Kind: Kind, Label: j.label(), Parent: parent, Asker: deferred.AskerOf(own, call),
		Input: input, Data: data, RunAt: due,
	}, j, hint, err
}

// check checks what does not depend on who asks.
func (j *job) check() error {
	const op = "schedules.Schedule"
	switch {
	case j.Once && j.MaxRuns > 1:
		return tool.Errorf(op, tool.Invalid, "max_runs is %d, and when names one time", j.MaxRuns).
			WithHint("leave max_runs out, or give cron in when")
	case strings.ContainsFunc(j.Name+j.Channel, unicode.IsControl):
		return tool.Errorf(op, tool.Invalid, "name or output_channel has a control character in it").
			WithHint("write them in letters, digits and signs")
	}
	return nil
}

// aim finds what happens then, and says what the asker should know of it.
func (s *Scheduler) aim(
	ctx context.Context, own *session.Session, j *job, r control.ScheduleRequest, conversation string,
) (hint string, err error) {
	const op = "schedules.Schedule"
	var hints []string
	if j.Channel != "" {
		asks, err := s.judgeChannel(ctx, own, j.Channel)
		if err != nil {
			return "", err
		}
		if asks {
			hints = append(hints, "by the rules of now a human must approve each message to the channel "+j.Channel)
		}
	}
	if r.Action == "" {
		if conversation == "" {
			return "", tool.Errorf(op, tool.Invalid, "nobody is there to be reminded: this is no conversation").
				WithHint("schedule a call instead, or keep the reminder where you run")
		}
		return strings.Join(hints, "; "), nil
	}
	target, err := deferred.FindTarget(ctx, own, &s.schemas, r.Action, r.Args)
	if err != nil {
		return "", err
	}
	if target.Tool.Runtime.SideEffect.Durable() && s.opt.Mode(own.ID()) == permission.Plan {
		const text = "in permission mode plan nothing that changes anything is scheduled, and %s does"
		return "", tool.Errorf(op, tool.Denied, text, target.Tool.ID.Dotted()).
			WithHint("say in the plan what you would schedule")
	}
	j.Tool, j.Args = target.Tool.ID.Dotted(), target.Args
	if target.Asks {
		hints = append(hints, "by the rules of now a human must approve each run: it waits until they do")
	}
	if conversation == "" && j.Channel == "" {
		hints = append(hints, "schedule_list shows what the last run brought")
	}
	return strings.Join(append(hints, target.Notes...), "; "), nil
}

// makeRoom cancels the job that has a name, and checks that there is room for another.
// s.adding is held.
func (s *Scheduler) makeRoom(
	ctx context.Context, own *session.Session, settings app.Scheduler, name string,
) (replaced string, err error) {
	if name != "" {
		if replaced, err = s.cancelNamed(ctx, own, name); err != nil {
			return "", err
		}
	}
	who := own.Principal()
	n, err := s.jobs.count(ctx, settings.MaxJobs, func(e entry) bool {
		return e.owner.Principal.App == who.App && e.owner.Principal.User == who.User
	})
	if err != nil {
		return "", err
	}
	if n >= settings.MaxJobs {
		return "", tool.Errorf("schedules.Schedule", tool.Limited,
			"%d schedules and reminders of this app wait already, which is as many as it may have", n).
			WithHint("cancel what is not needed any more (schedule_list, cancel_schedule), " +
				"or have the user raise runtime.scheduler.max_jobs in the app file")
	}
	return replaced, nil
}

// cancelNamed cancels the jobs of a session's owner that have a name, and returns the ID
// of one.
func (s *Scheduler) cancelNamed(ctx context.Context, own *session.Session, name string) (id string, err error) {
	named, err := s.jobs.all(ctx, func(e entry) bool { return e.name == name && s.owns(own, e) })
	if err != nil {
		return "", err
	}
	for one := range named {
		t, err := s.find(ctx, own, one)
		switch {
		case tool.KindOf(err) == tool.NotFound || err == nil && t.State.Final():
			s.jobs.remove(one)
			continue
		case err == nil:
			err = s.stop(ctx, t, "the job that took its name")
		}
		if err != nil {
			return "", err
		}
		id = one
	}
	return id, nil
}

// stopWithin is how long a run is given to stop.
const stopWithin = 10 * time.Second

// stop cancels a job on behalf of its owner, who is not told of it again.
func (s *Scheduler) stop(ctx context.Context, t task.Task, by string) error {
	if err := s.opt.Runner.Cancel(ctx, t.ID, by); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	if err := s.opt.Runner.Wait(within, t.ID); err != nil {
		return tool.Errorf("schedules.stop", tool.Busy, "%s is told to stop, and its run has not stopped yet", t.ID).
			WithHint("try again in a moment; %s", fmt.Sprintf("callgate tasks show %s tells how it stands", t.ID))
	}
	s.jobs.remove(t.ID)
	if t.Parent == "" {
		return nil
	}
	return s.opt.Runner.Store().Told(ctx, t.ID)
}
