package backgroundcalls_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/kernel/backgroundcalls"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// callBash calls bash by its short name, as models do, and reads what it says of a task.
func callBash(t testing.TB, s *session.Session, args string) (*tool.Result, backgroundcalls.Summary) {
	t.Helper()
	r := s.Call(t.Context(), session.CallRequest{Name: "Bash", Args: json.RawMessage(args)})
	var told backgroundcalls.Summary
	if len(r.Data) > 0 {
		ok(t, json.Unmarshal(r.Data, &told))
	}
	return r, told
}

// A command in the background is seen to by bash itself: how it stands, its input, waiting
// for its output and for its end, and ending it.
func TestTaskOfBash(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free)
	r, begun := callBash(t, s, `{"command":"while read x; do echo \"got $x\"; done; echo over","stdin_text":"zero\n",`+
		`"run_in_background":true,"stream":true}`)
	if begun.TaskID == "" || !strings.Contains(r.Summary, "goes on in the background") {
		t.Fatalf("%+v", r)
	}
	task := `{"task_id":"` + begun.TaskID + `"`
	if r, at := callBash(t, s, task+`,"stream_pattern":"^got z.ro$","wait":false}`); at.Matched == nil || !*at.Matched {
		t.Errorf("%+v: %s", at, r.Summary)
	}
	_, at := callBash(t, s, `{"taskId":"`+begun.TaskID+`","stdinText":"one\n","stream_pattern":"got on[e]"}`)
	if at.Status != "running" || at.Matched == nil || !*at.Matched || !strings.Contains(at.Output, "got one") {
		t.Errorf("%+v", at)
	}
	if _, at := callBash(t, s, task+`,"wait":true,"timeout":1}`); at.Status != "running" || !strings.Contains(at.Output, "one") {
		t.Errorf("after waiting: %+v", at)
	}
	if r, at := callBash(t, s, task+`,"stdin_text":"two\n","eof":true,"wait":true}`); at.Status != "completed" ||
		!strings.Contains(text(r), "got zero\ngot one\ngot two\nover") {
		t.Errorf("%+v: %s", at, text(r))
	}
}

// What says nothing is as if it were not there, and a time is one in milliseconds if it
// would be too long in seconds.
func TestEmptyArgumentsOfBash(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free)
	for _, args := range []string{`{"command":"echo hi","task_id":""}`, `{"command":"echo hi","taskId":" ","wait":false}`} {
		if r, _ := callBash(t, s, args); r.Status != tool.Success || !strings.Contains(text(r), "hi") {
			t.Errorf("%s: %s: %s", args, r.Status, r.Summary)
		}
	}
	_, begun := callBash(t, s, `{"command":"read x; echo \"got $x\"","run_in_background":true}`)
	r, at := callBash(t, s, `{"command":"","cwd":"","writes":[],"reads_only":false,"taskId":"","task_id":"`+begun.TaskID+
		`","stdin_text":"it\n","wait":true,"timeout":120000}`)
	if at.Status != "completed" || !strings.Contains(text(r), "got it") {
		t.Errorf("%+v: %s", at, r.Summary)
	}
	for _, more := range []string{`"timeout_ms":60000`, `"timeout_seconds":60`} {
		if r, _ := callBash(t, s, `{"task_id":"`+begun.TaskID+`","wait":true,`+more+`}`); r.Status != tool.Success {
			t.Errorf("%s: %s", more, r.Summary)
		}
	}
}

// Killing ends the command with everything that it started, in another group too. One that
// does not heed it is ended by force: TestCancelByForce.
func TestKillOfBash(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	word := marker(t)
	_, begun := callBash(t, s, `{"command":"setsid sleep `+word+` & echo ready; cat","run_in_background":true}`)
	task := `{"task_id":"` + begun.TaskID + `"`
	callBash(t, s, task+`,"stream_pattern":"ready"}`)
	kerneltest.Eventually(t, func() bool { return running(t, word) })
	if r, at := callBash(t, s, task+`,"kill":true}`); at.Status != "cancelled" {
		t.Errorf("%+v: %s", at, r.Summary)
	}
	kerneltest.Eventually(t, func() bool { return !running(t, word) && k.Tasks.Running() == 0 })
}

// What cannot be done with a command or a task is said, and nothing is run.
func TestBashArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free)
	for name, test := range map[string]struct {
		args, says string
		kind       tool.Kind
	}{
		"no such task":         {`{"task_id":"0123456789ab"}`, "no task", tool.NotFound},
		"a command and a task": {`{"task_id":"0123456789ab","command":"touch made"}`, "either runs a command", tool.Invalid},
		"in another spelling":  {`{"taskId":"0123456789ab","cmd":"touch made"}`, "", tool.Invalid},
		"kill a command":       {`{"command":"touch made","kill":true}`, "kill and wait", tool.Invalid},
		"wait for a command":   {`{"command":"touch made","wait":true}`, "kill and wait", tool.Invalid},
		"a pattern for one that is waited for": {`{"command":"touch made","stream_pattern":"x"}`, "in the background",
			tool.Invalid},
		"a bad pattern": {`{"command":"touch made","run_in_background":true,"stream_pattern":"("}`, "regular expression",
			tool.Invalid},
		"a bad pattern for a task": {`{"task_id":"0123456789ab","stream_pattern":"("}`, "regular expression", tool.Invalid},
		"no text":                  {`{"task_id":"0123456789ab","stdin_text":{}}`, "stdin", tool.Invalid},
		"nothing":                  {`{"stdin_text":"touch made"}`, "command", tool.Invalid},
		"a task without a name":    {`{"task_id":" ","name":"shell.bash","params":{"command":"touch made"}}`, "", tool.Invalid},
		"two tasks":                {`{"task_id":"0123456789ab","taskId":"ba9876543210","kill":true}`, "taskId and task_id", tool.Invalid},
		"two times":                {`{"task_id":"0123456789ab","timeout":1,"timeout_ms":1}`, "timeout and timeout_ms", tool.Invalid},
		"too long":                 {`{"task_id":"0123456789ab","timeout":7200000}`, "timeout", tool.Invalid},
	} {
		r, _ := callBash(t, s, test.args)
		if tool.KindOf(r.Err()) != test.kind || !strings.Contains(r.Summary, test.says) {
			t.Errorf("%s: %s %q", name, r.Status, r.Summary)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); err == nil {
		t.Error("a command was run")
	}
}

// Text that a command begins with can be commands itself, so it is judged with the
// command: what permits the command alone does not permit it with input.
func TestInputOfACommandIsJudged(t *testing.T) {
	t.Parallel()
	const rules = "tools:\n  capabilities:\n    default_policy: "
	const granted = "\n    grant: [{module: shell, actions: [bash], match: {command: [bash, cat *, python3]}}]\n"
	const said = "\n    grant: [{module: shell, actions: [bash], match: {command: tee *, stdin_text: \"**\"}}]\n"
	for name, c := range map[string]struct {
		app, args string
		status    tool.Status // waiting: a human is asked, and says no
	}{
		"free":              {free, `"command":"bash"`, tool.Success},
		"a shell":           {rules + "approve" + granted, `"command":"bash"`, tool.Waiting},
		"a reader":          {rules + "approve" + granted, `"command":"cat -"`, tool.Waiting},
		"a reader, piped":   {rules + "block" + granted, `"command":"cat - | bash"`, tool.Refused},
		"an interpreter":    {rules + "block" + granted, `"command":"python3"`, tool.Refused},
		"in the background": {rules + "block" + granted, `"command":"bash","run_in_background":true`, tool.Refused},
		"another spelling":  {rules + "block" + granted, `"cmd":["bash"]`, tool.Refused},
		"said by the rule":  {rules + "block" + said, `"command":"tee made"`, tool.Success},
		"a command that is denied": {
			rules + "auto\n    deny: [{module: shell, actions: [bash], match: {command: touch *}}]\n", `"command":"bash"`, tool.Refused,
		},
		"a command to be approved": {
			rules + "auto\n    approve: [{module: shell, actions: [bash], match: {command: touch *}}]\n", `"command":"bash"`,
			tool.Waiting,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := commands(t, c.app)
			told := make(chan *tool.Result)
			go func() {
				r, _ := callBash(t, s, `{`+c.args+`,"stdin_text":"touch made\n"}`)
				told <- r
			}()
			if c.status == tool.Waiting {
				q := asked(t, k)
				if !strings.Contains(string(q.Call.Args), `"stdin_text":"touch made\n"`) {
					t.Errorf("a human is shown %s", q.Call.Args)
				}
				if q.Session != nil && !q.Session.Exact {
					t.Errorf("a yes for the session covers %+v", q.Session)
				}
				kerneltest.Settle(t, k, q.ID, approval.Answer{})
				c.status = tool.Refused
			}
			r := <-told
			if r.Status != c.status {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
			if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); (err == nil) != (c.status == tool.Success) {
				t.Errorf("made: %v", err)
			}
		})
	}
}

// A task that was begun harmlessly is told to do harm: the text is judged, and on record
// as the arguments of a call of the shell.
func TestHarmlessTaskIsToldToHarm(t *testing.T) {
	t.Parallel()
	k, s := commands(t, "tools:\n  capabilities:\n    default_policy: block\n"+
		"    grant: [{module: shell, actions: [bash], match: {command: [bash, touch *]}}]\n")
	_, begun := callBash(t, s, `{"command":"bash","run_in_background":true}`)
	if begun.Status != "running" {
		t.Fatalf("%+v", begun)
	}
	task := `{"task_id":"` + begun.TaskID + `"`
	r, _ := callBash(t, s, task+`,"stdin_text":"touch made\n"}`)
	if r.Status != tool.Refused {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	list, err := k.Journal.Read(t.Context(), journal.Query{Kind: journal.Asked})
	ok(t, err)
	if !slices.ContainsFunc(list, func(r journal.Record) bool {
		return r.Tool == "shell:bash@1.0.0" && r.Ask != nil &&
			strings.Contains(string(r.Ask.Args), "touch made") && strings.Contains(string(r.Ask.Args), begun.TaskID)
	}) {
		t.Errorf("%+v", list)
	}
	if r, at := callBash(t, s, task+`,"eof":true,"wait":true}`); at.Status != "completed" {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); err == nil {
		t.Error("it was done")
	}
}

// A task is its conversation's: for another one it does not exist, and neither looking at
// it nor ending it nor writing to it happens.
func TestTaskOfAnotherConversation(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	_, begun := callBash(t, s, `{"command":"echo ready; bash","run_in_background":true}`)
	other := kerneltest.OpenSession(t, k, s.Workspace())
	for _, more := range []string{
		``, `,"kill":true`, `,"wait":true`, `,"stdin_text":"touch made\n"`, `,"stream_pattern":"ready"`, `,"eof":true`,
	} {
		if r, _ := callBash(t, other, `{"task_id":"`+begun.TaskID+`"`+more+`}`); tool.KindOf(r.Err()) != tool.NotFound ||
			strings.Contains(text(r), "ready") {
			t.Errorf("%s: %+v", more, r)
		}
	}
	if _, at := callBash(t, s, `{"task_id":"`+begun.TaskID+`"}`); at.Status != "running" {
		t.Errorf("%+v", at)
	}
}

// A task belongs to whoever began it: a client with another token does not have it, also
// when nobody has it open.
func TestTaskOfAnotherUser(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	_, begun := callBash(t, s, `{"command":"echo ready; cat","run_in_background":true}`)
	made, _, err := k.Tokens.Create(t.Context(), kerneltest.Human(t, k), token.Token{Role: token.Operator})
	ok(t, err)
	other, err := k.OpenSession(t.Context(), session.Spec{
		Workspace: s.Workspace(), Requester: approval.Requester{Token: made.ID},
	})
	ok(t, err)
	defer other.Close()
	refused := func(when string) {
		t.Helper()
		for _, more := range []string{``, `,"kill":true`, `,"stdin_text":"x\n"`} {
			if r, _ := callBash(t, other, `{"task_id":"`+begun.TaskID+`"`+more+`}`); tool.KindOf(r.Err()) != tool.NotFound {
				t.Errorf("%s: %s: %+v", when, more, r)
			}
		}
	}
	refused("it is open")
	workspace := s.Workspace()
	s.Close()
	refused("it is gone")
	back := kerneltest.OpenSession(t, k, workspace)
	if _, at := callBash(t, back, `{"task_id":"`+begun.TaskID+`","kill":true}`); at.Status != "cancelled" {
		t.Errorf("whoever began it came back: %+v", at)
	}
}

// stream_pattern of a command in the background tells its conversation once a line has it.
func TestStreamPatternTells(t *testing.T) {
	t.Parallel()
	k, _ := commands(t, free)
	c := kerneltest.OpenConversation(t, k, inFolder(t, free))
	kerneltest.AcceptApp(t, k, c.Session())
	_, begun := callBash(t, c.Session(), `{"command":"echo one; read x; echo listening on 80; cat",`+
		`"run_in_background":true,"stream_pattern":"^listening on [0-9]+$"}`)
	if begun.TaskID == "" {
		t.Fatalf("%+v", begun)
	}
	owed := func() (heads []string) {
		list, err := k.Tasks.Store().List(t.Context(), task.Query{Parent: c.ID(), Owed: true})
		ok(t, err)
		for _, one := range list {
			if one.Outcome != nil {
				heads = append(heads, one.Outcome.Head)
			}
		}
		return heads
	}
	if heads := owed(); len(heads) != 0 {
		t.Errorf("too early: %q", heads)
	}
	task := `{"task_id":"` + begun.TaskID + `"`
	if r, at := callBash(t, c.Session(), task+`,"stream_pattern":"^one$"}`); at.Matched == nil || !*at.Matched {
		t.Fatalf("%+v: %s", at, r.Summary)
	}
	if r, _ := callBash(t, c.Session(), task+`,"stdin_text":"go on\n"}`); r.Status != tool.Success {
		t.Fatalf("%s: %s", r.Status, r.Summary)
	}
	kerneltest.Eventually(t, func() bool { return len(owed()) == 1 })
	if heads := owed(); !strings.Contains(heads[0], "BACKGROUND TASK READY: "+begun.TaskID) {
		t.Errorf("%q", heads)
	}
	callBash(t, c.Session(), `{"task_id":"`+begun.TaskID+`","kill":true}`)
}

// An app that shows no tools for tasks has bash see to those that bash began.
func TestBashWithoutPrimitives(t *testing.T) {
	t.Parallel()
	_, s := commands(t, free+"runtime: {primitives: none}\n")
	_, begun := callBash(t, s, `{"command":"cat","run_in_background":true}`)
	if r, at := callBash(t, s, `{"task_id":"`+begun.TaskID+`","kill":true}`); at.Status != "cancelled" {
		t.Errorf("%+v: %s", at, r.Summary)
	}
}
