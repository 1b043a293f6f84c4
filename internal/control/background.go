package control

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"callgate/internal/journal/outputbus/window"
	"callgate/internal/sandbox/signals"
	"callgate/tool"
)

// BackgroundMode is what one call of background_run does.
type BackgroundMode string

// The modes, in the order in which the parameters are looked at.
const (
	BackgroundList   BackgroundMode = "list"
	BackgroundCancel BackgroundMode = "cancel"
	BackgroundWait   BackgroundMode = "wait"
	BackgroundStatus BackgroundMode = "status" // also to write to it, to signal it, and to wait for its output
	BackgroundLaunch BackgroundMode = "launch"
)

// BackgroundRequest is a call of background_run, read and checked.
type BackgroundRequest struct {
	Mode   BackgroundMode
	Target Target // of a launch
	Task   string // of the others but list

	Timeout     time.Duration // of waiting
	Settle      time.Duration // how long a launch, and output that was waited for, is looked at afterwards
	Tail        int           // lines of output; 0: all that is kept
	NotifyWhen  string        // a pattern; empty: none
	NotifyEvery time.Duration // 0: never
	WaitFor     string        // a pattern; empty: none

	Stdin  *string // for the task's standard input; nil: nothing
	EOF    bool    // the input ends
	Signal string  // for the task; empty: none
}

// Background does what background_run asks for.
type Background func(ctx context.Context, call tool.Call, r BackgroundRequest) (*tool.Result, error)

const backgroundText = "Run a tool in the background and go on meanwhile, or see to such a task. " +
	"With name and params it begins, and you have a task_id; you are told when it ends. " +
	"With task_id: how it stands and what it printed; with wait until it ends; with cancel it is stopped; " +
	"stdin and signal are for shell commands. With list: all tasks."

const backgroundSchema = `{"type":"object","properties":{
	"name":{"type":"string","maxLength":256,"description":"the tool to run"},
	"params":{"type":"object","description":"its parameters"},
	"task_id":{"type":"string","maxLength":64,"description":"a task that was begun"},
	"wait":{"type":"boolean","description":"with task_id: wait for its end, at most timeout; it goes on after that"},
	"cancel":{"type":"boolean","description":"with task_id: stop it"},
	"list":{"type":"boolean","description":"list all tasks"},
	"timeout":{"type":"number","minimum":1,"maximum":3600,"default":60,"description":"seconds, of wait and wait_for"},
	"tail_lines":{"type":"integer","minimum":0,"maximum":10000,"default":100,` +
	`"description":"lines of its output that are shown; 0: all of the last 64 KB"},
	"notify_when":{"type":"string","maxLength":1000,` +
	`"description":"you are told once its output has this text, or matches this /regexp/"},
	"notify_every":{"type":"number","minimum":5,"maximum":86400,"description":"seconds: you are told how far it is"},
	"wait_for":{"type":"string","maxLength":1000,"description":"this call returns once its output has this"},
	"settle":{"type":"number","minimum":0,"maximum":60,"default":0.3,` +
	`"description":"seconds: a task that fails so soon is told as failed"},
	"stdin":{"type":"string","maxLength":100000,"description":"with task_id: text for its input, with its newline"},
	"eof":{"type":"boolean","description":"with task_id: end its input"},
	"signal":{"type":"string","maxLength":20,"description":"with task_id: SIGINT, SIGTERM, SIGHUP, …"},
	"tool":{"type":"string","maxLength":256,"x-hidden":true},
	"tool_name":{"type":"string","maxLength":256,"x-hidden":true},
	"args":{"x-hidden":true},"arguments":{"x-hidden":true},"input":{"x-hidden":true},"parameters":{"x-hidden":true},
	"list_tasks":{"type":"boolean","x-hidden":true},
	"settle_seconds":{"type":"number","minimum":0,"maximum":60,"x-hidden":true}},
	"additionalProperties":true}`

// BackgroundTool makes background_run.
func BackgroundTool(sessions Sessions, do Background) *tool.Tool {
	run := func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
		r, err := ParseBackground(call.Args)
		if err != nil {
			return nil, err
		}
		if r.Mode == BackgroundLaunch {
			s, err := sessions(call.Principal.Session)
			if err != nil {
				return nil, err
			}
			seen, err := s.Tool(ctx, r.Target.Name)
			switch {
			case tool.KindOf(err) == tool.NotFound || err == nil && seen.Withheld:
				// The gate says whether it is denied or does not exist, and records the request.
				return s.CallChild(ctx, call.ID, r.Target.Name, r.Target.Args), nil
			case err != nil:
				return nil, err
			case seen.Runtime.Control:
				return nil, tool.Errorf("background_run", tool.Invalid, "%s cannot run in the background", seen.ID.Name).
					WithHint("call it by itself; of several calls, start each in the background")
			}
			r.Target.Name = seen.ID.String()
		}
		return do(ctx, call, r)
	}
	t := define(Namespace, "background_run", backgroundText, backgroundSchema, run)
	t.Runtime.Idempotent = false // the target decides that
	return t
}

// backgroundArgs are the parameters of background_run but for the target's.
type backgroundArgs struct {
	TaskID      string   `json:"task_id"`
	Wait        bool     `json:"wait"`
	Cancel      bool     `json:"cancel"`
	List        bool     `json:"list"`
	ListTasks   bool     `json:"list_tasks"`
	Timeout     float64  `json:"timeout"`
	Tail        *int     `json:"tail_lines"`
	NotifyWhen  string   `json:"notify_when"`
	NotifyEvery float64  `json:"notify_every"`
	WaitFor     string   `json:"wait_for"`
	Settle      *float64 `json:"settle"`
	SettleLong  *float64 `json:"settle_seconds"`
	Stdin       *string  `json:"stdin"`
	EOF         bool     `json:"eof"`
	Signal      string   `json:"signal"`
}

// ownKeys are the keys of background_run that are no parameters of its target.
var ownKeys = []string{
	"task_id", "wait", "cancel", "list", "list_tasks", "timeout", "tail_lines", "notify_when", "notify_every", "wait_for",
	"settle", "settle_seconds", "stdin", "eof", "signal",
}

// The defaults of background_run.
const (
	backgroundTimeout = 60 * time.Second
	backgroundSettle  = 300 * time.Millisecond
	backgroundTail    = 100
)

// ParseBackground reads the arguments of background_run. The parameters of its target
// may stand beside its name, unless background_run has one of that name.
func ParseBackground(raw json.RawMessage) (BackgroundRequest, error) {
	const op = "background_run"
	var in backgroundArgs
	if err := tool.DecodeArgs(op, raw, &in); err != nil {
		return BackgroundRequest{}, err
	}
	r := BackgroundRequest{
		Task: strings.TrimSpace(in.TaskID), Timeout: backgroundTimeout, Settle: backgroundSettle, Tail: backgroundTail,
		NotifyWhen: in.NotifyWhen, NotifyEvery: seconds(in.NotifyEvery), WaitFor: in.WaitFor,
		Stdin: in.Stdin, EOF: in.EOF, Signal: in.Signal,
	}
	if in.Timeout > 0 {
		r.Timeout = min(seconds(in.Timeout), time.Hour)
	}
	if in.Settle == nil {
		in.Settle = in.SettleLong
	}
	if in.Settle != nil {
		r.Settle = min(max(seconds(*in.Settle), 0), time.Minute)
	}
	if in.Tail != nil {
		r.Tail = max(*in.Tail, 0)
	}
	switch {
	case in.List || in.ListTasks:
		r.Mode = BackgroundList
	case r.Task != "" && in.Cancel:
		r.Mode = BackgroundCancel
	case r.Task != "" && in.Wait:
		r.Mode = BackgroundWait
	case r.Task != "":
		r.Mode = BackgroundStatus
	default:
		r.Mode = BackgroundLaunch
		var err error
		if r.Target, err = backgroundTarget(op, raw); err != nil {
			return BackgroundRequest{}, err
		}
	}
	return r, r.check()
}

// backgroundTarget reads the call that a launch makes.
func backgroundTarget(op string, raw json.RawMessage) (Target, error) {
	var fields map[string]json.RawMessage
	if err := tool.DecodeArgs(op, raw, &fields); err != nil {
		return Target{}, err
	}
	maps.DeleteFunc(fields, func(key string, _ json.RawMessage) bool { return slices.Contains(ownKeys, key) })
	rest, err := json.Marshal(fields)
	if err != nil {
		return Target{}, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the parameters cannot be read", Err: err}
	}
	name, args, err := target(op, rest)
	if err == nil && isExecute(name) {
		name, args, err = target(op, args)
	}
	if err != nil && tool.KindOf(err) == tool.Invalid && name == "" && len(fields) == 0 {
		return Target{}, tool.Errorf(op, tool.Invalid, "neither a tool nor a task is named").
			WithHint(`begin a task with {"name":"…","params":{…}}, see to one with {"task_id":"…"}, or {"list":true}`)
	}
	return Target{name, args}, err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// check reports what cannot be done.
func (r *BackgroundRequest) check() error {
	for _, pattern := range []string{r.NotifyWhen, r.WaitFor} {
		if pattern == "" {
			continue
		}
		if _, err := window.ParsePattern(pattern); err != nil {
			return err
		}
	}
	if r.Signal != "" {
		if _, err := signals.Parse(r.Signal); err != nil {
			return err
		}
	}
	toTask := r.Stdin != nil || r.EOF || r.Signal != ""
	if toTask && r.Mode != BackgroundStatus && r.Mode != BackgroundWait {
		return tool.Errorf("background_run", tool.Invalid, "stdin, eof and signal are for a task that runs").
			WithHint("begin it first, then give its task_id with them")
	}
	return nil
}
