package kernel_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/node"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/tool"
)

// A yes for an app at every node lets its calls run at another node, in any folder; when it is revoked at one, calls at
// the other ask again, and one that waits for its locks does not run.
func TestGrantsOfAllNodes(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	a := openNode(t, url, node.Timing{}, riskyTools(t)...)
	var ran atomic.Int32
	var blocked atomic.Bool
	release := make(chan struct{})
	r := tool.Runtime{
		Risk: tool.High, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
	}
	slow, err := tool.Func("demo.slow", "A tool of the test.", r, func(_ context.Context, _ command) (any, error) {
		ran.Add(1)
		if blocked.Load() {
			<-release
		}
		return map[string]any{"ran": true}, nil
	})
	ok(t, err)
	b := openNode(t, url, node.Timing{}, append(riskyTools(t), slow)...)
	first, second := appFolder(t, "mine", notesApp), appFolder(t, "theirs", notesApp)
	mine := kerneltest.OpenSession(t, a, first)
	stranger := kerneltest.OpenSession(t, b, second) // nobody accepted there that it is the same app
	request := kerneltest.Call(t, mine, "demo.run", `{"command":"git log --oneline"}`)
	id := answerFor(t, a, request, time.Time{}, "git log *", "in the app notes at every node")
	fits := [2]string{"demo.run", `{"command":"git log -3"}`}
	want(t, mine, tool.Success, fits)
	want(t, stranger, tool.Waiting, fits)
	stranger.Close()
	if shown := b.PendingConsent(kerneltest.OpenSession(t, b, second)); !strings.Contains(shown, "the grants that count for it at every node") {
		t.Errorf("who accepts the app is shown %q", shown)
	}
	theirs := kerneltest.OpenAccepted(t, b, second)
	want(t, theirs, tool.Success, fits)
	want(t, theirs, tool.Waiting, [2]string{"demo.run", `{"command":"git push"}`})
	want(t, kerneltest.OpenSession(t, b, t.TempDir()), tool.Waiting, fits) // of no app
	want(t, kerneltest.OpenSession(t, a, t.TempDir()), tool.Waiting, fits) // at the node that gave it, too
	want(t, sessionOf(t, b, "ben", second), tool.Waiting, fits)

	// A yes of this machine's folder, or of all its folders, is of its node.
	request = kerneltest.Call(t, mine, "demo.run", `{"command":"ls -l"}`)
	answerFor(t, a, request, time.Time{}, "ls *", "in every folder")
	want(t, mine, tool.Success, [2]string{"demo.run", `{"command":"ls -l"}`})
	want(t, theirs, tool.Waiting, [2]string{"demo.run", `{"command":"ls -l"}`})

	// A call at b that waits for its locks, when the grant is revoked at a.
	const args = `{"path":"src/a"}`
	slowID := answerFor(t, b, kerneltest.Call(t, theirs, "demo.slow", args), time.Time{}, "exact", "at every node")
	until(t, "the approved call", func() bool { return ran.Load() == 1 })
	blocked.Store(true)
	running, waiting := make(chan *tool.Result, 1), make(chan *tool.Result, 1)
	go func() { running <- kerneltest.Call(t, theirs, "demo.slow", args) }()
	until(t, "the first call by the grant", func() bool { return ran.Load() == 2 })
	go func() { waiting <- kerneltest.Call(t, theirs, "demo.slow", args) }()
	until(t, "a call that waits for the lock", func() bool { return len(b.Locks.Snapshot().Waiting) > 0 })
	ok(t, a.Grants.RevokeAs(t.Context(), kerneltest.Human(t, a), []string{id, slowID}))
	want(t, theirs, tool.Waiting, fits) // the next call already
	close(release)
	if r := <-running; r.Status != tool.Success {
		t.Errorf("the call that ran already: %s %q", r.Status, r.Summary)
	}
	if r := <-waiting; tool.KindOf(r.Err()) != tool.Conflict || ran.Load() != 2 {
		t.Errorf("the call that waited: %s %q; %d ran", r.Status, r.Summary, ran.Load())
	}
	all, err := b.Grants.All(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("after all were revoked there are %+v, %v", all, err)
	}
}

// A yes for every node goes with a kernel that leaves the database, and a kernel that is alone is offered none.
func TestGrantsOfAllNodesGoBack(t *testing.T) {

	t.Parallel()
	state, folder := kerneltest.StateDir(t), appFolder(t, "mine", notesApp)
	alone := kerneltest.Open(t, state, riskyTools(t)...)
	r := kerneltest.Call(t, kerneltest.OpenSession(t, alone, folder), "demo.run", `{"command":"git log -1"}`)
	request, err := alone.Approvals.Get(t.Context(), r.Approval)
	ok(t, err)
	for _, choice := range request.Choices {
		if choice.App != "" {
			t.Errorf("a kernel that is alone offers %q", choice.Text)
		}
	}
	ok(t, alone.Close())
	url := kerneltest.Postgres.URL(t)
	migration := moving.Migration{State: statedir.Dir(state), To: url}
	_, err = migration.Run(t.Context())
	ok(t, err)
	k := kerneltest.Open(t, state, riskyTools(t)...)
	s := kerneltest.OpenSession(t, k, folder)
	r = kerneltest.Call(t, s, "demo.run", `{"command":"git log --oneline"}`)
	answerFor(t, k, r, time.Time{}, "git log *", "at every node")
	fits := [2]string{"demo.run", `{"command":"git log -3"}`}
	want(t, s, tool.Success, fits)
	ok(t, k.Close())
	_, err = migration.Back(t.Context())
	ok(t, err)
	alone = kerneltest.Open(t, state, riskyTools(t)...)
	want(t, kerneltest.OpenSession(t, alone, folder), tool.Success, fits)
	want(t, kerneltest.OpenSession(t, alone, t.TempDir()), tool.Waiting, fits)
}
