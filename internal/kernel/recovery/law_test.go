package recovery_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// The clauses of the law that are not about newer data: each alone keeps a call in
// doubt from being made again.
func TestClausesOfTheLaw(t *testing.T) {
	t.Parallel()
	const appFile = "app: {app_id: a}\n"
	for _, test := range []struct {
		name   string
		before func(t *testing.T, state, workspace string) (left string)
		after  func(t *testing.T, state, workspace string)
		p      *putter // as it is after the start
		why    string
	}{
		{"policy asks a human now", nil, func(t *testing.T, _, workspace string) {
			write(t, filepath.Join(workspace, "callgate.yaml"),
				appFile+"tools:\n  capabilities:\n    approve:\n      - {module: team}\n")
		}, nil, "a human would have to approve it"},
		{"policy denies it now", nil, func(t *testing.T, _, workspace string) {
			write(t, filepath.Join(workspace, "callgate.yaml"),
				appFile+"tools:\n  capabilities:\n    deny:\n      - {module: team}\n")
		}, nil, "deny"},
		{"another call in doubt, of before, touches it", func(t *testing.T, state, workspace string) string {
			return cutOff(t, state, workspace, &putter{once: true, name: "team.once"}, putOld)
		}, nil, nil, "which is in doubt too"},
		{"its tool touches something else now", nil, nil,
			&putter{effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}}}, "something else now"},
		{"its tool no longer says that twice is once", nil, nil, &putter{once: true}, "twice is once"},
		{"its arguments are not whole on record", nil, nil, nil, "not whole on record"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state, workspace, p := kerneltest.StateDir(t), t.TempDir(), &putter{}
			write(t, filepath.Join(workspace, "x"), "BEFORE")
			write(t, filepath.Join(workspace, "callgate.yaml"), appFile)
			judged := 1
			if test.before != nil {
				state, judged = test.before(t, state, workspace), 2
			}
			args := putOld
			if strings.Contains(test.why, "whole") {
				args = `{"path":"x","text":"[secret KEY]"}`
			}
			left := cutOff(t, state, workspace, p, args)
			if test.after != nil {
				test.after(t, left, workspace)
			}
			if test.p != nil {
				p = test.p
			}
			k := kerneltest.Open(t, left, p.tool(t, workspace))
			await(t, k, journal.Judged, judged)
			if note := records(t, k, journal.Judged)[judged-1].Note; !strings.Contains(note, test.why) {
				t.Errorf("it is not made again because %q, want %q", note, test.why)
			}
			if got := read(t, filepath.Join(workspace, "x")); got != "BEFORE" || p.ran() != 0 {
				t.Errorf("the file holds %q after %d more runs", got, p.ran())
			}
		})
	}
}

// A call whose asker was told that it is in doubt is the asker's: no later kernel makes
// it again, also when nothing else has happened.
func TestCallThatWasToldIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	workspace, p := t.TempDir(), &putter{}
	left := cutOff(t, kerneltest.StateDir(t), workspace, p, putOld)
	k := kerneltest.OpenWith(t, kernel.Config{State: left, ShortLived: true})
	open, err := k.Journal.OpenDoubts(t.Context(), doubt.Query{})
	if err != nil || len(open) != 1 || open[0].State != doubt.New {
		t.Fatalf("in doubt: %+v, %v", open, err)
	}
	ok(t, k.Journal.Append(open[0].About(journal.Told)))
	ok(t, k.Close())
	left = cutOff(t, left, workspace, p, `{"path":"y","text":"OLD"}`) // its retry comes after one of the first would
	k = kerneltest.Open(t, left, p.tool(t, workspace))
	await(t, k, journal.Resolved, 1)
	for _, r := range records(t, k, journal.Begun) {
		if r.Call == doubt.RetryID(open[0].Call) {
			t.Error("it was made again")
		}
	}
}
