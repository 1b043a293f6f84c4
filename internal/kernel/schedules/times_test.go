package schedules_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/schedules"
	"callgate/internal/task"
	"callgate/tool"
)

// A schedule for once happens at its instant, once, and its conversation learns of it.
func TestOnce(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		j := w.add(s, "schedule", `{"when":"in 90m","action":"demo.run","name":"later"}`)
		if j.Type != "once" || j.NextRun != "2000-01-01T01:30:00Z" || j.Status != "waiting" || j.Label != "later: demo.run once" {
			t.Errorf("%+v", j)
		}
		pass(5 * time.Hour)
		same(t, "it ran", w.demo.times(began), hours(1.5))
		owed := w.owed(s.ID())
		want := "SCHEDULED RUN " + j.ID + "-20000101T013000Z of later: demo.run: succeeded\n{\"run\":1}"
		if len(owed) != 1 || owed[0] != want {
			t.Errorf("told %q, want %q", owed, want)
		}
		if got := w.job(j.ID); got.State != task.Done {
			t.Errorf("it is %s", got.State)
		}
	})
}

// Cron happens again and again, and ends after as many runs as it may have.
func TestRepeated(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		j := w.add(s, "schedule", `{"when":"*/30 * * * *","action":"demo.run","max_runs":3}`)
		if j.Type != "cron" || j.Cron != "*/30 * * * *" || j.MaxRuns != 3 {
			t.Errorf("%+v", j)
		}
		pass(70 * time.Minute)
		if owed := w.owed(s.ID()); len(owed) != 2 || !strings.Contains(owed[1], "-20000101T010000Z of demo.run: succeeded") {
			t.Errorf("told %q", owed)
		}
		pass(5 * time.Hour)
		same(t, "it ran", w.demo.times(began), hours(.5, 1, 1.5))
		if owed := w.owed(s.ID()); len(owed) != 3 {
			t.Errorf("told %q", owed)
		}
		if got := w.job(j.ID); got.State != task.Done || strings.Count(w.log(j.ID), "succeeded") != 3 {
			t.Errorf("it is %s:\n%s", got.State, w.log(j.ID))
		}
	})
}

// A reminder is the message, told when it was asked for.
func TestRemind(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.conversation()
		j := w.add(s, "remind", `{"when":"in 1h","message":"look at the build","name":"build"}`)
		if j.Session != s.ID() || j.Label != `build: reminder "look at the build" once` {
			t.Errorf("%+v", j)
		}
		plants := w.add(s, "remind", `{"when":"0 */2 * * *","what":"water the plants"}`)
		pass(59 * time.Minute)
		if owed := w.owed(s.ID()); len(owed) != 0 {
			t.Errorf("told %q", owed)
		}
		pass(2 * time.Minute)
		if owed := w.owed(s.ID()); len(owed) != 1 ||
			owed[0] != "REMINDER "+j.ID+"-20000101T010000Z (build)\nlook at the build" {
			t.Errorf("told %q", owed)
		}
		pass(3 * time.Hour)
		if owed := w.owed(s.ID()); len(owed) != 3 || !strings.HasPrefix(owed[2], "REMINDER "+plants.ID+"-20000101T040000Z\nwater") {
			t.Errorf("told %q", owed)
		}
		client := w.session()
		if e := w.refuses(client, "remind", `{"when":"in 1h","message":"x"}`); e.Kind != tool.Invalid ||
			!strings.Contains(e.Error(), "this is no conversation") {
			t.Error(e)
		}
	})
}

// What was missed while no kernel was there happens once, late; then all goes on.
func TestMissed(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		every := w.add(s, "schedule", `{"when":"@hourly","action":"demo.run"}`)
		once := w.add(s, "schedule", `{"when":"in 2h","action":"demo.run","args":{"once":true}}`)
		pass(90 * time.Minute)
		w.restart(6 * time.Hour)
		synctest.Wait()
		same(t, "it ran", w.demo.times(began), hours(1, 7.5, 7.5))
		pass(time.Hour)
		same(t, "it ran", w.demo.times(began), hours(1, 7.5, 7.5, 8))
		told := strings.Join(w.owed(s.ID()), "\n\n")
		for _, want := range []string{
			"SCHEDULED RUN " + every.ID + "-20000101T020000Z of demo.run: succeeded\n" +
				"planned for 2000-01-01T02:00:00Z, made at 2000-01-01T07:30:00Z\n" +
				"later times that have passed, and are left out: 5\n",
			"SCHEDULED RUN " + once.ID + "-20000101T020000Z of demo.run: succeeded\nplanned for 2000-01-01T02:00:00Z",
			"SCHEDULED RUN " + every.ID + "-20000101T080000Z of demo.run: succeeded\n{",
		} {
			if strings.Count(told, want) != 1 {
				t.Errorf("told\n%s\nwant once\n%s", told, want)
			}
		}
	})
}

// Runs of one schedule do not overlap, however long they are.
func TestNoOverlap(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.session()
		w.demo.does = func(ctx context.Context) (any, error) {
			pauseFor(ctx, 25*time.Minute)
			return "long", ctx.Err()
		}
		j := w.add(s, "schedule", `{"when":"*/10 * * * *","action":"demo.run","max_runs":3}`)
		pass(30 * time.Minute)
		s.Close()
		if jobs := w.list(w.session()); len(jobs) != 1 || jobs[0].Status != "running" || jobs[0].Runs != 0 {
			t.Errorf("%+v", jobs)
		}
		pass(3 * time.Hour)
		same(t, "it ran", w.demo.times(began), []time.Duration{10 * time.Minute, 40 * time.Minute, 70 * time.Minute})
		if log := w.log(j.ID); strings.Count(log, "later times that have passed, and are left out: 2") != 3 {
			t.Error(log)
		}
	})
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// A call is judged by the rules of when it is made: one that is denied by then is
// refused, one that needs a human waits for them, and holds up the next.
func TestJudgedWhenItFires(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		j := w.add(s, "schedule", `{"when":"@hourly","action":"demo.run"}`)
		pass(61 * time.Minute)
		w.rules("runtime: {scheduler: true}\ntools:\n  capabilities: {deny: [{module: demo, reason: not on Sundays}]}\n")
		pass(time.Hour)
		w.rules("runtime: {scheduler: true}\ntools:\n  capabilities: {approve: [{module: demo}], approval_timeout: 3600}\n")
		pass(90 * time.Minute)
		same(t, "it ran", w.demo.times(began), hours(1))
		waiting, err := w.k.Approvals.List(t.Context(), approval.Pending, 0)
		ok(t, err)
		if len(waiting) != 1 || waiting[0].Call.ID != j.ID+"-20000101T030000Z" {
			t.Fatalf("%+v waits", waiting)
		}
		kerneltest.Settle(t, w.k, waiting[0].ID, approval.Answer{Approve: true})
		synctest.Wait()
		same(t, "it ran", len(w.demo.times(began)), 2)
		told := strings.Join(w.owed(s.ID()), "\n\n")
		if !strings.Contains(told, "-20000101T020000Z of demo.run: refused\n") || !strings.Contains(told, "not on Sundays") ||
			!strings.Contains(told, "-20000101T030000Z of demo.run: succeeded") {
			t.Error(told)
		}
		// Nobody answers the next one, and it is refused when its time to be answered is over.
		pass(150 * time.Minute)
		if log := w.log(j.ID); !strings.Contains(log, "-20000101T040000Z refused") && !strings.Contains(log, "-20000101T040000Z failed") {
			t.Error(log)
		}
	})
}

// Times are read in the time zone that the call names, or the app, or in UTC.
func TestTimezones(t *testing.T) {
	const app = "runtime: {scheduler: {timezone: Asia/Kolkata}}\ntools:\n  capabilities: {default_policy: auto}\n"
	inBubble(t, app, func(t *testing.T, w *world) {
		began, s := time.Now(), w.session()
		w.add(s, "schedule", `{"when":"0 9 * * *","action":"demo.run","max_runs":1}`)                               // 03:30 UTC
		w.add(s, "schedule", `{"when":"2000-01-01T12:30","action":"demo.run"}`)                                     // 07:00 UTC
		w.add(s, "schedule", `{"when":"2000-01-01T08:00Z","action":"demo.run"}`)                                    // 08:00 UTC
		ny := w.add(s, "schedule", `{"when":"0 9 * * *","action":"demo.run","max_runs":1,"tz":"america/new_york"}`) // 14:00 UTC
		if ny.NextRun != "2000-01-01T09:00:00-05:00" || ny.Timezone != "America/New_York" {
			t.Errorf("%+v", ny)
		}
		pass(24 * time.Hour)
		same(t, "they ran", w.demo.times(began), hours(3.5, 7, 8, 14))
	})
}

// On the night of 26 March 2000 the clocks of Berlin went from two to three, and on that
// of 29 October from three to two.
func TestNightsOfChange(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.session()
		fixed := w.add(s, "schedule", `{"when":"30 2 * * *","action":"demo.run","timezone":"Europe/Berlin"}`)
		hourly := w.add(s, "schedule", `{"when":"30 * * * *","action":"demo.run","timezone":"Europe/Berlin"}`)
		at := func(text string) time.Time {
			when, err := time.Parse(time.RFC3339, text)
			ok(t, err)
			return when
		}
		planned := func(id string) (all []string) {
			for line := range strings.SplitSeq(w.log(id), "\n") {
				all = append(all, strings.TrimSuffix(strings.Fields(line)[1], ";")[len(id)+len("-2000"):])
			}
			return all
		}
		spring := at("2000-03-25T22:00:00Z")
		w.restart(time.Until(spring))
		pass(6 * time.Hour)
		w.restart(time.Until(at("2000-03-27T00:29:00Z")))
		pass(2 * time.Minute)
		same(t, "half past two in spring", planned(fixed.ID), []string{"0101T013000Z", "0326T010000Z", "0327T003000Z"})
		same(t, "every hour in spring", planned(hourly.ID)[1:6],
			[]string{"0325T223000Z", "0325T233000Z", "0326T003000Z", "0326T013000Z", "0326T023000Z"})
		autumn := at("2000-10-28T22:00:00Z")
		w.restart(time.Until(autumn))
		pass(6 * time.Hour)
		all := planned(hourly.ID)
		w.restart(time.Until(at("2000-10-30T01:29:00Z")))
		pass(2 * time.Minute)
		same(t, "half past two in autumn", planned(fixed.ID)[3:], []string{"0328T003000Z", "1029T003000Z", "1030T013000Z"})
		same(t, "every hour in autumn", all[len(all)-6:][:5],
			[]string{"1028T223000Z", "1028T233000Z", "1029T003000Z", "1029T013000Z", "1029T023000Z"})
	})
}

// The 29th of February is there in 2000, 2004 and not in 2001.
func TestLeapDays(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.session()
		j := w.add(s, "schedule", `{"when":"0 12 29 2 *","action":"demo.run"}`)
		monthly := w.add(s, "schedule", `{"when":"0 12 31 * *","action":"demo.run","max_runs":2}`)
		if j.NextRun != "2000-02-29T12:00:00Z" || monthly.NextRun != "2000-01-31T12:00:00Z" {
			t.Errorf("%+v, %+v", j, monthly)
		}
		var noons []time.Duration
		for _, day := range []string{"2000-01-31", "2000-02-29", "2000-03-31", "2001-02-28", "2001-03-01", "2004-02-29"} {
			noon, err := time.Parse(time.DateTime, day+" 12:00:00")
			ok(t, err)
			noons = append(noons, noon.Sub(began))
			w.restart(time.Until(noon.Add(-time.Minute))) // a kernel that waits for years in a bubble is slow
			pass(2 * time.Minute)
		}
		same(t, "they ran", w.demo.times(began), []time.Duration{noons[0], noons[1], noons[2], noons[5]})
	})
}

// A kernel that closes in the middle of a run leaves one run: the next kernel tells what
// became of it, once, and goes on.
func TestRestartInTheMiddle(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		began, s := time.Now(), w.conversation()
		w.demo.does = func(ctx context.Context) (any, error) {
			pauseFor(ctx, 30*time.Minute)
			return "done", ctx.Err()
		}
		j := w.add(s, "schedule", `{"when":"@hourly","action":"demo.run"}`)
		pass(75 * time.Minute)
		for range 3 {
			w.restart(time.Minute)
			synctest.Wait()
		}
		same(t, "it ran", w.demo.times(began), hours(1))
		owed := w.owed(s.ID())
		if len(owed) != 1 || !strings.HasPrefix(owed[0], "SCHEDULED RUN "+schedules.RunID(j.ID, began.Add(time.Hour))+" of demo.run: failed") {
			t.Errorf("told %q", owed)
		}
		pass(2 * time.Hour)
		same(t, "it ran", w.demo.times(began), hours(1, 2, 3))
	})
}

// A conversation that does not listen is owed the news of a few runs, not of all of them.
func TestNotesAreBounded(t *testing.T) {
	inBubble(t, free, func(t *testing.T, w *world) {
		s := w.conversation()
		j := w.add(s, "schedule", `{"when":"* * * * *","action":"demo.run"}`)
		pass(time.Hour + time.Second)
		owed := w.owed(s.ID())
		if len(owed) != 8 || len(w.demo.times(time.Now())) != 60 {
			t.Errorf("%d notices of %d runs", len(owed), len(w.demo.times(time.Now())))
		}
		list, err := w.k.Tasks.Store().List(t.Context(), task.Query{Parent: s.ID(), Owed: true})
		ok(t, err)
		for _, one := range list {
			ok(t, w.k.Tasks.Store().Told(t.Context(), one.ID))
		}
		pass(time.Minute)
		if owed := w.owed(s.ID()); len(owed) != 1 || !strings.Contains(owed[0], "of 52 runs before it you were not told") {
			t.Errorf("told %q", owed)
		}
		if got := w.job(j.ID); len(got.Data) > 1000 {
			t.Errorf("the data grow: %s", got.Data)
		}
	})
}
