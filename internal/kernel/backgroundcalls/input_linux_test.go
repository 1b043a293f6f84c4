package backgroundcalls_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/permission"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

// A shell in the background is told what to do by its input, so that is judged like any
// command: by the rules about commands, by permissions, by humans.
func TestInputIsJudged(t *testing.T) {
	t.Parallel()
	const rules = "tools:\n  capabilities:\n    default_policy: "
	for name, c := range map[string]struct {
		app    string
		plan   bool
		stdin  string
		status tool.Status // waiting: a human is asked, and says no
	}{
		"free":      {app: free, stdin: "touch made", status: tool.Success},
		"plan mode": {app: free, plan: true, stdin: "touch made", status: tool.Refused},
		"a denied command": {
			app:   rules + "auto\n    deny: [{module: shell, actions: [bash], match: {command: touch *}}]\n",
			stdin: "true; touch made", status: tool.Refused,
		},
		"a command to be approved": {
			app:   rules + "auto\n    approve: [{module: shell, actions: [bash], match: {command: touch *}}]\n",
			stdin: "touch made", status: tool.Waiting,
		},
		"a command that is granted, but not as input": {
			app:   rules + "approve\n    grant: [{module: shell, actions: [bash], match: {command: [bash, echo *, touch *]}}]\n",
			stdin: "touch made", status: tool.Waiting,
		},
		"a command that is granted where nothing else is": {
			app:   rules + "block\n    grant: [{module: shell, actions: [bash], match: {command: [bash, echo *, touch *]}}]\n",
			stdin: "touch made", status: tool.Refused,
		},
		"a tool that is granted": {
			app: rules + "approve\n    grant: [{module: shell, actions: [bash]}]\n", stdin: "touch made", status: tool.Success,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := commands(t, c.app)
			begun := beginShell(t, k, s)
			if c.plan {
				k.Permissions.Change(s.ID(), func(now permission.State) permission.State {
					now.Mode = permission.Plan
					return now
				})
			}
			told := make(chan *tool.Result)
			go func() {
				r, _ := run(t, s, of(begun.TaskID, `"stdin":"`+c.stdin+`\n"`))
				told <- r
			}()
			if c.status == tool.Waiting {
				kerneltest.Settle(t, k, asked(t, k).ID, approval.Answer{})
				c.status = tool.Refused
			}
			if r := <-told; r.Status != c.status {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
			made := filepath.Join(s.Workspace(), "made")
			if c.status == tool.Success {
				kerneltest.Eventually(t, func() bool { _, err := os.Stat(made); return err == nil })
				return
			}
			run(t, s, of(begun.TaskID, `"eof":true,"wait":true`))
			if _, err := os.Stat(made); err == nil {
				t.Error("it was done")
			}
		})
	}
}

// beginShell begins a shell that waits for input, with a human's yes where one is needed.
func beginShell(t *testing.T, k *kernel.Kernel, s *session.Session) backgroundcalls.Summary {
	t.Helper()
	_, begun := run(t, s, bash("echo ready; bash", ""))
	settled := false
	kerneltest.Eventually(t, func() bool { // what a human is asked may come after the answer
		_, at := run(t, s, of(begun.TaskID, `"tail_lines":5`))
		if at.Approval != "" && !settled {
			kerneltest.Settle(t, k, at.Approval, approval.Answer{Approve: true})
			settled = true
		}
		return strings.Contains(at.Output, "ready")
	})
	return begun
}

// A human sees the text and what it is input for, and what they approve is written.
func TestInputIsApproved(t *testing.T) {
	t.Parallel()
	k, s := commands(t, "tools:\n  capabilities: {default_policy: approve}\n")
	begun := beginShell(t, k, s)
	told := make(chan *tool.Result)
	go func() {
		r, _ := run(t, s, of(begun.TaskID, `"stdin":"echo $((6*7)) > made\n","eof":true,"wait":true`))
		told <- r
	}()
	q := asked(t, k)
	args := string(q.Call.Args)
	if !strings.Contains(args, "made") || !strings.Contains(args, begun.TaskID) ||
		!strings.Contains(args, "input for shell.bash: echo ready; bash") ||
		q.Call.Tool.Dotted() != "shell.bash" || q.Call.Parent == "" {
		t.Errorf("%+v", q)
	}
	if q.Session != nil && !q.Session.Exact {
		t.Errorf("a yes for the session covers %+v", q.Session)
	}
	kerneltest.Settle(t, k, q.ID, approval.Answer{Approve: true})
	if r := <-told; r.Status != tool.Success || !strings.Contains(r.Summary, "completed") {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	made, err := os.ReadFile(filepath.Join(s.Workspace(), "made"))
	if err != nil || string(made) != "42\n" {
		t.Errorf("%q, %v", made, err)
	}
	records, err := k.Journal.Read(t.Context(), journal.Query{Call: q.Call.ID})
	if ok(t, err); len(records) < 3 || records[0].Ask == nil || !strings.Contains(string(records[0].Ask.Args), "made") {
		t.Errorf("%+v", records)
	}
}

// Nobody writes to another's command, also not by calling the shell.
func TestInputForAnother(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	begun := beginShell(t, k, s)
	other := kerneltest.OpenSession(t, k, s.Workspace())
	const args = `{"command":"touch made","input_for":"`
	if r := kerneltest.Call(t, other, "shell.bash", args+begun.TaskID+`"}`); tool.KindOf(r.Err()) != tool.NotFound {
		t.Errorf("%+v", r)
	}
	if r := kerneltest.Call(t, s, "shell.bash", args+begun.TaskID+`","eof":true}`); r.Status != tool.Success {
		t.Errorf("%+v", r)
	}
}
