package tasks_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel/background"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/riverjobs"
	"callgate/internal/task"
)

// The environment of a process that is a node: its ID, the database, and the file in which it writes what it ran.
const (
	childNode     = "CALLGATE_TEST_TASKS_NODE"
	childDatabase = "CALLGATE_TEST_TASKS_DATABASE"
	childRuns     = "CALLGATE_TEST_TASKS_RUNS"
)

// beNode runs the tasks of a node until its input ends, which is when its parent is gone.
func beNode() int {
	ctx := context.Background()
	id := os.Getenv(childNode)
	db, err := postgres.Open(ctx, os.Getenv(childDatabase), postgres.Node{ID: id, Lease: time.Hour})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	file, err := os.OpenFile(os.Getenv(childRuns), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s := db.Stores()
	group := background.New(ctx)
	r := tasks.New(tasks.Options{
		Store: s.Tasks, Queue: s.Queue, Leases: s.Leases, Logs: s.TaskLogs, Holder: id, Go: group.Go,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Carrier: riverjobs.NewCarrier(db.Jobs(), nil),
	})
	r.Handle("k", func(_ context.Context, one *tasks.Run) task.Outcome {
		line := fmt.Sprintln(one.ID, one.RunAt.UnixMicro(), time.Now().UnixMicro())
		if _, err := file.WriteString(line); err != nil {
			return tasks.Failed(err)
		}
		return task.Outcome{State: task.Done}
	})
	r.Run()
	fmt.Println("up")
	_, _ = io.Copy(io.Discard, os.Stdin)
	group.Close()
	_ = db.Close()
	return 0
}

// process is a node in a process of its own.
type process struct {
	id, runs string
	cmd      *exec.Cmd
}

func startNode(t *testing.T, at, dir, id string) *process {
	t.Helper()
	p := &process{id: id, runs: filepath.Join(dir, id)}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), childNode+"="+id, childDatabase+"="+at, childRuns+"="+p.runs)
	p.cmd.Stderr = os.Stderr
	_, err := p.cmd.StdinPipe() // it ends with this process
	ok(t, err)
	out, err := p.cmd.StdoutPipe()
	ok(t, err)
	ok(t, p.cmd.Start())
	t.Cleanup(p.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("node %s says %q, %v", id, line, err)
	}
	return p
}

// kill ends it as hard as can be.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// ran reads how often each task ran, how late those were that were due one by one, and how long nothing began.
func (p *process) ran(t *testing.T) (times map[string]int, late []time.Duration, pause time.Duration) {
	t.Helper()
	text, err := os.ReadFile(p.runs)
	ok(t, err)
	times = map[string]int{}
	last := 0
	for line := range strings.Lines(string(text)) {
		var id string
		var due, begun int
		_, err := fmt.Sscan(line, &id, &due, &begun)
		ok(t, err)
		times[id]++
		if strings.HasPrefix(id, "one") {
			late = append(late, time.Duration(begun-due)*time.Microsecond)
		}
		if last > 0 {
			pause = max(pause, time.Duration(begun-last)*time.Microsecond)
		}
		last = begun
	}
	return times, late, pause
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(4 * time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-over:
			t.Fatal(what)
		}
	}
}

// plan makes tasks of a node, each later than the one before it.
func plan(t *testing.T, db *postgres.DB, node, name string, n int, at time.Time, step time.Duration) {
	t.Helper()
	const insert = "INSERT INTO tasks (node, id, kind, label, parent, session, asker, state, run_at, due, max_attempts, " +
		"created) SELECT $1, convert_to($2 || n, 'UTF8'), 'k', '', '', '', '{}', 'queued', " +
		"$3::bigint + n * $4::bigint, $3::bigint + n * $4::bigint, 0, 1 FROM generate_series(0, $5 - 1) AS n"
	_, err := db.Pool().Exec(t.Context(), insert, node, name, at.UnixNano(), int64(step), n)
	ok(t, err)
}

// When the process that leads River is killed, the tasks of the others run at their time, without a leader too; what is
// due in bulk runs once, and once more nothing when another leads. What the dead one had runs when it is back, once.
func TestLeaderLoss(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it kills nodes under 10,000 tasks")
	}
	at := server.URL(t)
	dir := t.TempDir()
	watch, err := postgres.Open(t.Context(), at, postgres.Node{ID: "watch", Lease: time.Hour})
	ok(t, err)
	defer watch.Close()
	leads := func() string {
		leader, err := watch.Jobs().Leader(t.Context())
		ok(t, err)
		return leader
	}
	first := startNode(t, at, dir, "first")
	waitFor(t, "nobody leads", func() bool { return leads() == "first" })

	const many, few = 4900, 100
	bulk := time.Now().Add(20 * time.Second)
	for _, id := range []string{"second", "third"} {
		plan(t, watch, id, "bulk", many, bulk, 0)
		plan(t, watch, id, "one", few, bulk.Add(5*time.Second), 100*time.Millisecond)
	}
	plan(t, watch, "first", "own", 100, bulk, 0)
	others := []*process{startNode(t, at, dir, "second"), startNode(t, at, dir, "third")}
	<-time.After(time.Until(bulk) - time.Second)
	first.kill()
	killed := time.Now()
	unsettled := func(node string) (n int) {
		const count = "SELECT count(*) FROM tasks WHERE node = $1 AND ended = 0"
		ok(t, watch.Pool().QueryRow(t.Context(), count, node).Scan(&n))
		return n
	}
	waitFor(t, "tasks of the living are left", func() bool { return unsettled("second")+unsettled("third") == 0 })
	waitFor(t, "nobody leads any more", func() bool { return leads() != "first" && leads() != "" })
	t.Logf("%s leads %v after the kill", leads(), time.Since(killed).Round(time.Second))
	again := startNode(t, at, dir, "first")
	waitFor(t, "tasks of the dead one are left", func() bool { return unsettled("first") == 0 })
	for _, p := range append(others, again) {
		times, late, pause := p.ran(t)
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s ran %s %d times", p.id, id, n)
			}
		}
		if want := map[string]int{"second": many + few, "third": many + few, "first": 100}[p.id]; len(times) != want {
			t.Errorf("%s ran %d tasks, want %d", p.id, len(times), want)
		}
		if p == again {
			continue
		}
		slices.Sort(late)
		t.Logf("%s began those that were due one by one %v late in the median, %v at most; nothing began for %v at most",
			p.id, late[len(late)/2], late[len(late)-1], pause)
		if pause > 10*time.Second { // River without a leader stands still for 15
			t.Errorf("%s stood still without a leader", p.id)
		}
	}
	var left int
	const jobs = "SELECT count(*) FROM river_job WHERE finalized_at IS NULL"
	waitFor(t, "jobs are left", func() bool {
		ok(t, watch.Pool().QueryRow(t.Context(), jobs).Scan(&left))
		return left == 0
	})
}
