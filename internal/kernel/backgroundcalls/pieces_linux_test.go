package backgroundcalls_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/gate/approval"
	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// A command that comes in pieces is judged as what the shell makes of them.
func TestInputInPieces(t *testing.T) {
	t.Parallel()
	const rules = "tools:\n  capabilities:\n    default_policy: auto\n    "
	const touch = ": [{module: shell, actions: [bash], match: {command: touch *}}]\n"
	for name, c := range map[string]struct {
		kind   string
		pieces []string // the last one completes the command
	}{
		"denied":            {"deny", []string{"tou", `ch made\n`}},
		"to be approved":    {"approve", []string{"tou", `ch made\n`}},
		"in three":          {"deny", []string{"true\\nto", "u", `ch made\n`}},
		"continued":         {"deny", []string{`tou\\\n`, `ch made\n`}},
		"behind other text": {"approve", []string{"true; tou", `ch made\ntrue\n`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := commands(t, rules+c.kind+touch)
			begun := beginShell(t, k, s)
			told := make(chan *tool.Result, len(c.pieces))
			go func() {
				for _, piece := range c.pieces {
					r, _ := callBash(t, s, `{"task_id":"`+begun.TaskID+`","stdin_text":"`+piece+`"}`)
					told <- r
				}
			}()
			for range len(c.pieces) - 1 {
				if r := <-told; r.Status != tool.Success {
					t.Fatalf("%s: %s", r.Status, r.Summary)
				}
			}
			if c.kind == "approve" {
				q := asked(t, k)
				if !strings.Contains(string(q.Call.Args), `"unfinished":"`+c.pieces[0]) {
					t.Errorf("a human is shown %s", q.Call.Args)
				}
				kerneltest.Settle(t, k, q.ID, approval.Answer{})
			}
			if r := <-told; r.Status != tool.Refused {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
			callBash(t, s, `{"task_id":"`+begun.TaskID+`","eof":true,"wait":true}`)
			if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); err == nil {
				t.Error("it was done")
			}
		})
	}
}

// The text that a command begins with is the first piece.
func TestInputBehindTheFirstText(t *testing.T) {
	t.Parallel()
	k, s := commands(t, "tools:\n  capabilities:\n    default_policy: auto\n"+
		"    deny: [{module: shell, actions: [bash], match: {command: touch *}}]\n")
	_, begun := run(t, s, `{"name":"shell.bash","params":{"command":"bash","stdin_text":"echo ready\ntou"}}`)
	kerneltest.Settle(t, k, asked(t, k).ID, approval.Answer{Approve: true})
	run(t, s, of(begun.TaskID, `"wait_for":"ready","settle":0`))
	if r, _ := callBash(t, s, `{"task_id":"`+begun.TaskID+`","stdin_text":"ch made\n"}`); r.Status != tool.Refused {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
	callBash(t, s, `{"task_id":"`+begun.TaskID+`","kill":true}`)
}

// Input is written only as it was judged: behind the text, and for the command, that the
// call says.
func TestInputThatWasJudgedOtherwise(t *testing.T) {
	t.Parallel()
	k, s := commands(t, free)
	begun := beginShell(t, k, s)
	if r, _ := callBash(t, s, `{"task_id":"`+begun.TaskID+`","stdin_text":"tou"}`); r.Status != tool.Success {
		t.Fatalf("%s: %s", r.Status, r.Summary)
	}
	const args = `{"command":"ch made\n","input_for":"`
	for name, more := range map[string]string{
		"other text":      `","task_command":"echo ready; bash","unfinished":"x"}`,
		"no text":         `","task_command":"echo ready; bash"}`,
		"another command": `","task_command":"cat","unfinished":"tou"}`,
	} {
		if r := kerneltest.Call(t, s, "shell.bash", args+begun.TaskID+more); tool.KindOf(r.Err()) != tool.Conflict {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := kerneltest.Call(t, s, "shell.bash", args+begun.TaskID+`","eof":true}`); r.Status != tool.Success {
		t.Errorf("%+v", r)
	}
	callBash(t, s, `{"task_id":"`+begun.TaskID+`","wait":true}`)
	if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); err != nil {
		t.Errorf("the pieces are one command: %v", err)
	}
}

// A program that is told to read its code from its input is one that nobody knows.
func TestStdinByName(t *testing.T) {
	t.Parallel()
	k, s := commands(t, "tools:\n  capabilities:\n    default_policy: auto\n"+
		"    deny: [{module: shell, actions: [bash], match: {command: touch *}}]\n")
	told := make(chan *tool.Result)
	go func() {
		r, _ := callBash(t, s, `{"command":"bash /dev/stdin","run_in_background":true}`)
		told <- r
	}()
	kerneltest.Settle(t, k, asked(t, k).ID, approval.Answer{})
	if r := <-told; r.Status != tool.Refused {
		t.Errorf("%s: %s", r.Status, r.Summary)
	}
}

// A rule about a command and its input holds however the input comes.
func TestRuleOnInputOfATask(t *testing.T) {
	t.Parallel()
	const rules = "tools:\n  capabilities:\n    default_policy: auto\n    deny: [{module: shell, actions: [bash], match: "
	for name, c := range map[string]struct {
		match  string
		status tool.Status
	}{
		"a command with any input": {`{command: sh -s, stdin_text: "**"}`, tool.Refused},
		"any input":                {`{stdin_text: "**"}`, tool.Refused},
		"other input":              {`{command: sh -s, stdin_text: other}`, tool.Success},
		"another command":          {`{command: cat -n, stdin_text: "**"}`, tool.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, s := commands(t, rules+c.match+"}]\n")
			_, begun := callBash(t, s, `{"command":"sh -s","run_in_background":true}`)
			if begun.TaskID == "" {
				t.Fatalf("%+v", begun)
			}
			told := make(chan *tool.Result)
			go func() {
				r, _ := callBash(t, s, `{"task_id":"`+begun.TaskID+`","stdin_text":"touch made\n"}`)
				told <- r
			}()
			if c.status == tool.Waiting { // what a shell reads may be that command
				kerneltest.Settle(t, k, asked(t, k).ID, approval.Answer{})
				c.status = tool.Refused
			}
			if r := <-told; r.Status != c.status {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
			callBash(t, s, `{"task_id":"`+begun.TaskID+`","eof":true,"wait":true}`)
			if _, err := os.Stat(filepath.Join(s.Workspace(), "made")); (err == nil) != (c.status == tool.Success) {
				t.Errorf("made: %v", err)
			}
		})
	}
}
