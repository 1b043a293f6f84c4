package watchers_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
)

// refusal is in the errors of the database while a test has it refuse changes.
const refusal = "malformed JSON"

// logged is what a kernel logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// openFailing opens a place whose database a test can have refuse new tasks of a kind,
// and other changes. mend ends that.
func openFailing(t *testing.T) (p *place, log *logged, fail func(when string) (mend func())) {
	t.Helper()
	state, g := kerneltest.StateDir(t), &gauge{value: 1}
	log = &logged{}
	p = &place{gauge: g, folder: inFolder(t, rules), Kernel: kerneltest.OpenWith(t, kernel.Config{
		State: state, Tools: g.tools(t), Log: slog.New(slog.NewTextHandler(log, nil)),
	})}
	p.talk = kerneltest.OpenConversation(t, p.Kernel, p.folder)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(state, "callgate.db")+"?_pragma=busy_timeout(5000)")
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return p, log, func(when string) func() {
		// RAISE would be a conflict, as of a task that somebody else holds.
		_, err := db.ExecContext(t.Context(), "CREATE TRIGGER full BEFORE "+when+" BEGIN SELECT json('no JSON'); END")
		ok(t, err)
		return func() {
			_, err := db.ExecContext(t.Context(), "DROP TRIGGER full")
			ok(t, err)
		}
	}
}

// A notice that cannot be stored, told or acted on for a while is told and acted on later,
// and those after it too. Meanwhile nothing is checked.
func TestNoticeThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{
		"the watcher": "UPDATE OF data ON tasks WHEN NEW.kind = 'watch'",
		"the notice":  "INSERT ON tasks WHEN NEW.kind = 'notice'",
		"the action":  "INSERT ON tasks WHEN NEW.kind = 'watch.action'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, log, fail := openFailing(t)
			id := p.start(t, `{"name":"demo.gauge","interval":1,"actions":[{"name":"demo.note","params":{"text":"{{result.n}}"}}]}`)
			mend := fail(when)
			p.gauge.set(7, nil)
			kerneltest.Eventually(t, func() bool {
				return p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, id))["notify_count"] == 1.0
			})
			made := p.gauge.checks()
			p.gauge.set(8, nil)
			failed := log.count(refusal)
			kerneltest.Eventually(t, func() bool { return log.count(refusal) >= failed+2 })
			if n := p.gauge.checks() - made; n > 0 {
				t.Errorf("%d checks were made while a notice waits", n)
			}
			mend()
			news := p.awaitNews(t, 2)
			contains(t, news[0], `{"n":7}`)
			contains(t, news[1], `{"n":8}`)
			kerneltest.Eventually(t, func() bool { return len(p.gauge.noted()) >= 2 })
			notes := p.gauge.noted()
			if slices.Sort(notes); !slices.Equal(notes, []string{"7", "8"}) {
				t.Errorf("%q", notes)
			}
		})
	}
}

// So is that of the last check, before the watcher ends.
func TestLastNoticeThatCannotBeStored(t *testing.T) {
	t.Parallel()
	p, log, fail := openFailing(t)
	mend := fail("INSERT ON tasks WHEN NEW.kind = 'notice'")
	p.start(t, `{"name":"demo.gauge","interval":1,"max_checks":2,"notify_when":"on_error",
		"actions":[{"name":"demo.note","params":{"text":"{{error}}"}}]}`)
	p.gauge.set(1, fmt.Errorf("broken"))
	kerneltest.Eventually(t, func() bool { return log.count(refusal) > 0 })
	mend()
	news := p.awaitNews(t, 2)
	slices.SortFunc(news, func(a, b string) int { return -strings.Compare(a, b) })
	contains(t, news[0], "WATCHER UPDATE: checks fail now")
	contains(t, news[1], "WATCHER COMPLETED: its 2 checks are made")
	kerneltest.Eventually(t, func() bool { return len(p.gauge.noted()) == 1 })
	running(t, p.Kernel, 0)
}

// Calls that were not checked when a kernel closed are in the first check of the next.
func TestJournalOverARestart(t *testing.T) {
	t.Parallel()
	g := &gauge{value: 1}
	state, folder := kerneltest.StateDir(t), inFolder(t, rules)
	p := &place{Kernel: kerneltest.Open(t, state, g.tools(t)...), gauge: g, folder: folder}
	p.talk = kerneltest.OpenConversation(t, p.Kernel, folder)
	paused := p.start(t, `{"name":"journal","params":{"tool":"demo.*"},"interval":1,"notify_first":true}`)
	one := fmt.Sprintf(`{"watcher_id":%q}`, paused)
	p.start(t, `{"name":"journal","params":{"tool":"demo.*"},"interval":3600,"notify_first":true}`)
	kerneltest.Eventually(t, func() bool { return p.call(t, "watch_status", one)["push"] != nil })
	p.call(t, "watch_pause", one)
	other := kerneltest.OpenSession(t, p.Kernel, folder)
	success(t, other, "demo.gauge", `{}`)
	p.awaitNews(t, 1) // of the one that is not paused: the call was read
	ok(t, p.Close())

	p.Kernel = kerneltest.Open(t, state, g.tools(t)...)
	running(t, p.Kernel, 2)
	p.talk = kerneltest.Resume(t, p.Kernel, p.talk.ID())
	p.call(t, "watch_resume", one)
	news := p.awaitNews(t, 2)
	contains(t, news[1], paused, `"count":1`, "demo.gauge", other.ID())
}

// Calls that came while a check of them failed are in the next one.
func TestJournalWhileTheAppIsBroken(t *testing.T) {
	t.Parallel()
	p := open(t, rules)
	id := p.start(t, `{"name":"journal","params":{"tool":"demo.*"},"interval":1,"notify_when":"on_change"}`)
	failures := func() float64 {
		status := p.call(t, "watch_status", fmt.Sprintf(`{"watcher_id":%q}`, id))
		return status["metrics"].(map[string]any)["failures"].(float64)
	}
	other := kerneltest.OpenSession(t, p.Kernel, p.folder)
	write(t, filepath.Join(p.folder, "callgate.yaml"), "runtime: [")
	success(t, other, "demo.gauge", `{}`)
	had := failures()
	kerneltest.Eventually(t, func() bool { return failures() >= had+2 })
	write(t, filepath.Join(p.folder, "callgate.yaml"), rules)
	news := p.awaitNews(t, 1)
	contains(t, news[0], "the check works again", `"count":1`, "demo.gauge", other.ID())
}
