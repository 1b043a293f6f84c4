package schedules

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"callgate/internal/control"
	"callgate/internal/gate"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// How a run went.
const (
	succeeded = "succeeded"
	failed    = "failed"
	refused   = "refused"
	inDoubt   = "in doubt"
	reminded  = "reminded"
)

// maxMissed is how many missed times are counted.
const maxMissed = 1000

// retryAfter is how long a run waits that could not be told.
const retryAfter = time.Minute

// run runs a schedule that is due: it makes the call, tells what it brought, and plans
// the next.
func (s *Scheduler) run(ctx context.Context, r *tasks.Run) task.Outcome {
	j, st, err := read(r.Task)
	if err != nil {
		return tasks.Failed(err)
	}
	one := firing{job: &j, id: RunID(r.ID, st.Planned), planned: st.Planned, began: s.opt.Now()}
	one.status, one.result = reminded, &tool.Result{}
	if j.Tool != "" {
		one.result = s.opt.Calls.Call(ctx, r.Asker, gate.CallRequest{
			ID: one.id, Name: j.Tool, Args: j.Args, Background: true,
		})
		one.status = statusOf(one.result)
	}
	if ctx.Err() != nil { // cancelled, or the kernel closes: the next one asks what became of the call
		return stopped()
	}
	next, again, err := s.next(&j, &one)
	if err != nil {
		return tasks.Failed(err)
	}
	st.Runs++
	st.Last = &control.JobRun{ID: one.id, At: one.began.UTC(), Status: one.status, Text: one.preview(maxKept)}
	st.Missed += one.missed
	again = again && (j.MaxRuns == 0 || st.Runs < j.MaxRuns)
	outcome, err := s.tell(ctx, r, &one, &st, !again)
	if ctx.Err() != nil { // what was told or sent has an ID: the next one finds it
		return stopped()
	}
	if err != nil {
		s.opt.Log.Warn("a scheduled run cannot be told yet", "task", r.ID, "run", one.id, "error", err)
		r.Again(time.Now().Add(retryAfter), r.Data) // the same run: its call is not made again
		return task.Outcome{}
	}
	r.Log(ctx, one.line(), one.entry())
	if again {
		st.Planned = next
		r.Again(next, st)
		return task.Outcome{}
	}
	s.jobs.remove(r.ID)
	return outcome
}

func stopped() task.Outcome { return task.Outcome{State: task.Failed, Summary: "it was stopped"} }

// next returns the time of the run after this one, and counts the times that are left
// out.
func (s *Scheduler) next(j *job, one *firing) (next time.Time, ok bool, err error) {
	if j.Once {
		return time.Time{}, false, nil
	}
	plan, err := j.plan()
	if err != nil {
		return time.Time{}, false, err
	}
	now := s.opt.Now()
	if now.Before(one.planned) { // the clock was set back
		now = one.planned
	}
	next, ok = plan.Next(now)
	for at, more := plan.Next(one.planned); more && !at.After(now) && one.missed < maxMissed; one.missed++ {
		at, more = plan.Next(at)
	}
	return next, ok, nil
}

// statusOf says in a word how a call went.
func statusOf(r *tool.Result) string {
	switch {
	case r.Error != nil && r.Error.Kind == tool.InDoubt:
		return inDoubt
	case r.Status == tool.Refused:
		return refused
	case r.Status == tool.Success:
		return succeeded
	}
	return failed
}

// tell has the result of a run told, and returns the outcome of a schedule whose last
// run it is. A conversation learns of the last run by the end of the schedule.
func (s *Scheduler) tell(
	ctx context.Context, r *tasks.Run, one *firing, st *state, last bool,
) (task.Outcome, error) {
	outcome := one.outcome()
	if data, err := json.Marshal(st); err == nil {
		outcome.Data = data
	}
	if one.job.Channel != "" {
		later, err := s.deliver(ctx, r, one)
		if later || ctx.Err() != nil {
			return outcome, err
		}
		if err == nil {
			outcome.Summary = "its result went to the channel " + one.job.Channel
			return outcome, nil
		}
		one.notes = append(one.notes, "its result could not be delivered to the channel "+one.job.Channel+": "+err.Error())
		outcome.Summary = one.text(maxTold)
	}
	if last || r.Parent == "" {
		return outcome, nil
	}
	return outcome, s.notify(ctx, r, one, st)
}

// maxOwed is how many notices of one schedule its conversation is owed.
const maxOwed = 8

// notify tells the conversation of a run, unless it still has not heard of the last ones.
func (s *Scheduler) notify(ctx context.Context, r *tasks.Run, one *firing, st *state) error {
	if len(st.Owed) >= maxOwed {
		oldest, err := s.opt.Runner.Store().Get(ctx, st.Owed[0])
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return err
		}
		if err == nil && oldest.Owed() {
			st.Untold++
			return nil
		}
		st.Owed = st.Owed[1:]
	}
	if st.Untold > 0 {
		one.notes = append(one.notes, fmt.Sprintf("of %d runs before it you were not told", st.Untold))
	}
	id, news := one.id+"-told", one.outcome()
	news.State = task.Done
	err := s.opt.Runner.Tell(ctx, task.Task{ID: id, Label: news.Head, Parent: r.Parent, Asker: r.Asker, Outcome: &news})
	if err == nil {
		st.Owed, st.Untold = append(st.Owed, id), 0
	}
	return err
}
