package riverjobs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

// patience is how long a test waits for what must happen.
const patience = 90 * time.Second

// carry carries in the background, and returns what is told. answer is what is said of it. stop ends it, and waits.
func carry(
	t *testing.T, db *postgres.DB, log *slog.Logger, answer func(id string) error,
) (c *riverjobs.Carrier, told <-chan string, stop func()) {
	t.Helper()
	c = riverjobs.NewCarrier(db.Jobs(), log)
	c.Poll = 200 * time.Millisecond
	ids := make(chan string, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Carry(ctx, func(_ context.Context, id string) error {
			ids <- id
			return answer(id)
		})
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return c, ids, stop
}

func taken(string) error { return nil }

func expect(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case id := <-told:
		if id != want {
			t.Fatalf("%q was told, not %q", id, want)
		}
	case <-time.After(patience):
		t.Fatalf("%q is not told", want)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(patience); !is(); {
		select {
		case <-tick.C:
		case <-over:
			t.Fatal(what)
		}
	}
}

// Who carries is told of each task at its time, also of one whose name is no text, and of one again that could not be
// begun. Nobody is told of what was leased or cancelled meanwhile.
func TestTold(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	s := db.Stores()
	soon := time.Now().Add(2 * time.Second)
	for _, id := range []string{"leased", "cancelled", "odd \xff\x00 name"} {
		_, _, err := s.Tasks.Create(t.Context(), task.Task{ID: id, Kind: "k", RunAt: soon})
		ok(t, err)
	}
	_, _, err := s.Tasks.Create(t.Context(), task.Task{ID: "at once", Kind: "k"})
	ok(t, err)
	leased, _, err := s.Queue.Lease(t.Context(), task.Request{Holder: "n", For: time.Hour})
	if ok(t, err); len(leased) != 1 || leased[0].ID != "at once" {
		t.Fatalf("%v were leased", leased)
	}
	ok(t, s.Leases.Again(t.Context(), "at once", leased[0].Lease.Fence, time.Now().Add(time.Hour), nil))
	ok(t, s.Tasks.Cancel(t.Context(), "cancelled", "ada"))
	run(t, db, "UPDATE tasks SET run_at = 1, due = 1 WHERE id = 'leased'")
	leased, _, err = s.Queue.Lease(t.Context(), task.Request{Holder: "n", ID: "leased", For: time.Hour})
	if ok(t, err); len(leased) != 1 {
		t.Fatalf("%v were leased", leased)
	}
	var tries int
	var mu sync.Mutex
	_, told, _ := carry(t, db, nil, func(string) error {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries == 1 {
			return errors.New("not now")
		}
		return nil
	})
	expect(t, told, "odd \xff\x00 name")
	if early := time.Until(soon); early > 50*time.Millisecond {
		t.Errorf("it was told %v too early", early)
	}
	expect(t, told, "odd \xff\x00 name")
	eventually(t, "the job is not done", func() bool {
		return ask(t, db, "SELECT count(*) FROM river_job WHERE finalized_at IS NULL") == 1 // that of "at once"
	})
	if len(told) != 0 {
		t.Errorf("%q was told too", <-told)
	}
}

// A queue that is paused tells of nothing, and goes on; one whose node ended paused goes on with the node.
func TestPause(t *testing.T) {
	t.Parallel()
	at := place(t)
	db := openNode(t, at, "n")
	c, told, stop := carry(t, db, nil, taken)
	queues := "SELECT count(*) FROM river_queue WHERE paused_at IS NULL"
	eventually(t, "no queue is worked", func() bool { return ask(t, db, queues) == 1 })
	ok(t, c.Pause(t.Context(), true))
	eventually(t, "the queue is not paused", func() bool { return ask(t, db, queues) == 0 })
	create := func(id string) {
		_, _, err := db.Stores().Tasks.Create(t.Context(), task.Task{ID: id, Kind: "k"})
		ok(t, err)
	}
	create("a")
	<-time.After(riverjobs.Grace + 7*time.Second) // River's leader looks every five
	if len(told) != 0 {
		t.Errorf("%q was told of a queue that is paused", <-told)
	}
	ok(t, c.Pause(t.Context(), false))
	expect(t, told, "a")
	ok(t, db.Stores().Tasks.Cancel(t.Context(), "a", "ada"))
	ok(t, c.Pause(t.Context(), true))
	stop()
	create("b")
	_, told, _ = carry(t, db, nil, taken)
	expect(t, told, "b")
}

// whenStarting is the log of a client that says when it begins: then it calls something, which may have to wait for that.
type whenStarting struct {
	slog.Handler
	call func()
}

func (w whenStarting) Handle(_ context.Context, r slog.Record) error {
	if !strings.Contains(r.Message, "Fetching initial queue settings") {
		return nil
	}
	called := make(chan struct{})
	go func() { w.call(); close(called) }()
	select {
	case <-called:
	case <-time.After(200 * time.Millisecond):
	}
	return nil
}

// A queue is paused also if that is said while its client begins.
func TestPauseWhileItBegins(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	var c *riverjobs.Carrier
	ready, begins := make(chan struct{}), slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug})
	c, _, _ = carry(t, db, slog.New(whenStarting{begins, func() {
		<-ready
		ok(t, c.Pause(t.Context(), true))
	}}), taken)
	close(ready)
	eventually(t, "the queue is not paused", func() bool {
		return ask(t, db, "SELECT count(*) FROM river_queue WHERE paused_at IS NOT NULL") == 1
	})
}

// A queue that was paused before there was one is paused when there is.
func TestPauseBeforeItBegins(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	c := riverjobs.NewCarrier(db.Jobs(), nil)
	ok(t, c.Pause(t.Context(), true))
	ctx, cancel := context.WithCancel(t.Context())
	var carrying sync.WaitGroup
	carrying.Go(func() { c.Carry(ctx, func(context.Context, string) error { return nil }) })
	t.Cleanup(func() { cancel(); carrying.Wait() })
	eventually(t, "the queue is not paused", func() bool {
		return ask(t, db, "SELECT count(*) FROM river_queue WHERE paused_at IS NOT NULL") == 1
	})
}

// What a process was being told when it ended is told to the next at once, and its logs are for who looks for a fault.
func TestANextProcess(t *testing.T) {
	t.Parallel()
	at := place(t)
	old := openNode(t, at, "n")
	_, _, err := old.Stores().Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "k"})
	ok(t, err)
	run(t, old, "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{n/1}'")
	db := openNode(t, at, "n")
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, told, stop := carry(t, db, log, taken)
	expect(t, told, "a")
	eventually(t, "nobody leads", func() bool {
		leader, err := db.Jobs().Leader(t.Context())
		return err == nil && leader == "n"
	})
	stop()
	if text := lines.String(); !strings.Contains(text, "River") || strings.Count(text, "\n") != strings.Count(text, "level=DEBUG") {
		t.Errorf("the log says\n%s", text)
	}
	if leader, err := db.Jobs().Leader(t.Context()); err != nil || leader != "" {
		t.Errorf("%q leads, %v", leader, err)
	}
}

// A carrier whose server goes away works again when it is back.
func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	db := openNode(t, place(t), "n")
	_, told, _ := carry(t, db, nil, taken)
	eventually(t, "nobody leads", func() bool {
		leader, err := db.Jobs().Leader(t.Context())
		return err == nil && leader == "n"
	})
	name := ""
	ok(t, db.Pool().QueryRow(t.Context(), "SELECT left(current_setting('application_name'), 21)").Scan(&name))
	if _, err := server.Admin(t).Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE left(application_name, 21) = $1", name); err != nil {
		t.Fatal(err)
	}
	_, _, err := db.Stores().Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "k"})
	ok(t, err)
	expect(t, told, "a")
}

// In a schema whose name is too long for River's channels, nothing is told, and nothing fails.
func TestALongName(t *testing.T) {
	t.Parallel()
	db := openNode(t, server.Schema(t, "long"+strings.Repeat("g", 55)), "n")
	log := make(lines, 1)
	c, told, stop := carry(t, db, slog.New(slog.NewTextHandler(log, nil)), taken)
	_, _, err := db.Stores().Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "k"})
	ok(t, err)
	run(t, db, "DELETE FROM river_job")
	ok(t, db.Jobs().Fill(t.Context()))
	ok(t, c.Pause(t.Context(), true))
	if line := <-log; !strings.Contains(line, "too long for River") {
		t.Errorf("the log says %s", line)
	}
	stop()
	if n := ask(t, db, "SELECT count(*) FROM river_job WHERE state = 'scheduled'"); n != 1 || len(told) != 0 {
		t.Errorf("%d jobs, %d told", n, len(told))
	}
}

// lines are those of a log.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}
