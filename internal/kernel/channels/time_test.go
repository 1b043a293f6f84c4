package channels_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/app"
	"callgate/internal/gate/lock"
	"callgate/internal/kernel/apps"
	"callgate/internal/kernel/background"
	"callgate/internal/kernel/channels"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage"
	"callgate/internal/storage/sqlite"
	"callgate/internal/task"
	"callgate/tool"
)

// files is the app of every folder.
type files struct{ channels []app.Channel }

func (f *files) Load(_ context.Context, workspace, _ string) (*apps.Loaded, error) {
	return &apps.Loaded{
		Workspace: workspace, App: &app.App{Path: "/x/callgate.yaml", Runtime: app.Runtime{Channels: f.channels}},
	}, nil
}

// plain are secrets of which there are none.
type plain struct{}

func (plain) Expand(text string) (string, error)                    { return text, nil }
func (plain) ValuesFor(string, []string) (map[string]string, error) { return map[string]string{}, nil }
func (plain) ScrubString(text string) string                        { return text }

var owner = task.Asker{Principal: tool.Principal{User: "ada", App: "shop", Session: "t1"}, Workspace: "/x"}

// open makes channels and their runner, with time of its own.
func open(t *testing.T, all ...app.Channel) (*channels.Channels, *tasks.Runner, storage.Stores) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "tasks.db"))
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	group, stores := background.New(t.Context()), db.Stores()
	t.Cleanup(group.Close)
	runner := tasks.New(tasks.Options{
		Store: stores.Tasks, Queue: stores.Queue, Leases: stores.Leases, Logs: stores.TaskLogs, Holder: "k",
		Log: slog.New(slog.DiscardHandler), Go: group.Go,
	})
	for i := range all {
		all[i].FromUser = true // it needs no consent
	}
	c := channels.New(channels.Options{Apps: &files{all}, Runner: runner, Secrets: plain{}, Locks: lock.New()})
	runner.Run()
	return c, runner, stores
}

// times are when the attempts were made, in seconds after the first.
func times(t *testing.T, r *receiver) (all []int) {
	t.Helper()
	var first int
	for i, h := range r.requests() {
		at, err := strconv.Atoi(h.Get("webhook-timestamp"))
		ok(t, err)
		if i == 0 {
			first = at
		}
		all = append(all, at-first)
	}
	return all
}

func hook(r *receiver) app.Channel {
	return app.Channel{Name: "ops", Type: "webhook", URL: r.URL, PrivateHosts: []string{"127.0.0.1"}, MaxAttempts: 5}
}

func near(got, want int) bool { return got >= want*9/10-1 && got <= want*11/10+1 }

// A receiver that is down for a while gets the message, under one ID, later each time
// and not before it wants it.
func TestRetries(t *testing.T) {
	r := receive(t, 503, 500, 429, 204)
	r.after[2] = "600"
	synctest.Test(t, func(t *testing.T) {
		c, _, stores := open(t, hook(r))
		for range 2 { // asking twice is once
			ok(t, c.Deliver(t.Context(), owner, "ops", "report-1", "hello"))
		}
		<-time.After(time.Hour)
		synctest.Wait()
		at := times(t, r)
		if len(at) != 4 || !near(at[1], 5) || !near(at[2]-at[1], 20) || !near(at[3]-at[2], 600) {
			t.Errorf("attempts at %v", at)
		}
		for _, h := range r.requests() {
			if h.Get("webhook-id") == "" || h.Get("webhook-id") != r.requests()[0].Get("webhook-id") {
				t.Errorf("the ID is %q", h.Get("webhook-id"))
			}
		}
		list, err := c.Letters(t.Context(), false, 0)
		ok(t, err)
		if len(list) != 1 || list[0].State != task.Done || list[0].Attempts != 4 || list[0].Error != "" || list[0].Text != "hello" {
			t.Errorf("%+v", list)
		}
		entries, err := stores.TaskLogs.Entries(t.Context(), list[0].ID, 0)
		ok(t, err)
		if len(entries) != 4 || !strings.Contains(entries[0].Text, "attempt 1 of 5") || !strings.Contains(entries[0].Text, "503") {
			t.Errorf("%+v", entries)
		}
	})
}

// A message that nobody takes is a dead letter: it is shown, its conversation is told,
// and a human has it tried again under the same ID.
func TestDeadLetter(t *testing.T) {
	r := receive(t, 500, 500, 500, 500, 500, 500, 204)
	synctest.Test(t, func(t *testing.T) {
		c, _, stores := open(t, hook(r))
		ok(t, c.Deliver(t.Context(), owner, "ops", "report-1", "hello"))
		<-time.After(10 * time.Hour)
		synctest.Wait()
		dead, err := c.Letters(t.Context(), true, 0)
		ok(t, err)
		if len(dead) != 1 || dead[0].Attempts != 5 || !strings.Contains(dead[0].Error, "500") || dead[0].State != task.Failed {
			t.Fatalf("%+v", dead)
		}
		owed, err := stores.Tasks.List(t.Context(), task.Query{Parent: "t1", Owed: true})
		ok(t, err)
		if len(owed) != 1 || !strings.Contains(owed[0].Outcome.Summary, "NOT DELIVERED to the channel ops") {
			t.Errorf("%+v", owed)
		}
		for range 2 { // twice is once
			_, err = c.Retry(t.Context(), dead[0].ID)
			ok(t, err)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if left, _ := c.Letters(t.Context(), true, 0); len(left) > 0 {
			t.Errorf("after a retry: %+v", left)
		}
		got := r.requests()
		if len(got) != 7 || got[6].Get("webhook-id") != got[0].Get("webhook-id") {
			t.Errorf("%d requests", len(got))
		}
		if _, err := c.Retry(t.Context(), dead[0].ID+"-r"); tool.KindOf(err) != tool.Conflict {
			t.Errorf("a delivery that arrived: %v", err)
		}
		if _, err := c.Retry(t.Context(), "delivery-none"); tool.KindOf(err) != tool.NotFound {
			t.Errorf("no delivery: %v", err)
		}
	})
}

// What the receiver refuses for good is not tried again.
func TestRefused(t *testing.T) {
	r := receive(t, 400)
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := open(t, hook(r))
		ok(t, c.Deliver(t.Context(), owner, "ops", "x", "hello"))
		<-time.After(time.Hour)
		synctest.Wait()
		if dead, _ := c.Letters(t.Context(), true, 0); len(dead) != 1 || len(r.requests()) != 1 {
			t.Errorf("%d requests, %+v", len(r.requests()), dead)
		}
	})
}

func TestTheConversationIsAChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, stores := open(t)
		for _, name := range []string{"conversation", "llm_notification", "conversation"} {
			ok(t, c.Deliver(t.Context(), owner, name, "run-1", "it is done"))
		}
		<-time.After(time.Second)
		synctest.Wait()
		owed, err := stores.Tasks.List(t.Context(), task.Query{Parent: "t1", Owed: true})
		ok(t, err)
		if len(owed) != 1 || owed[0].Kind != task.Notice || !strings.Contains(owed[0].Outcome.Summary, "it is done") {
			t.Errorf("%+v", owed)
		}
	})
}

func TestWhatIsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := open(t, app.Channel{Name: "screen", Type: "stdout"})
		for name, got := range map[string]struct {
			err  error
			kind tool.Kind
		}{
			"no channel": {c.Deliver(t.Context(), owner, "scren", "x", "hello"), tool.NotFound},
			"no text":    {c.Deliver(t.Context(), owner, "screen", "x", " \n"), tool.Invalid},
			"too much":   {c.Deliver(t.Context(), owner, "screen", "x", strings.Repeat("x", 300<<10)), tool.Invalid},
			"no ID":      {c.Deliver(t.Context(), owner, "screen", "", "x"), tool.Internal},
		} {
			if tool.KindOf(got.err) != got.kind {
				t.Errorf("%s: %v", name, got.err)
			}
		}
	})
}
