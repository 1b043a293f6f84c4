package shell

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"callgate/internal/gate/argname"
	"callgate/internal/gate/detach"
	"callgate/internal/journal/outputbus/window"
	"callgate/tool"
)

// backgroundTool sees to the tasks of a caller.
const backgroundTool = "context_builder.background_run"

var (
	_ argname.Redirector = handler{}
	_ detach.Notifier    = handler{}
)

// taskKeys are what a call that names a task may say of it, and what background_run calls
// that: what both call alike stays.
var taskKeys = map[string]string{
	"task_id": "task_id", "wait": "wait", "timeout": "timeout", "eof": "eof",
	"kill": "cancel", "stdin_text": "stdin", "stream_pattern": "wait_for",
	"cancel": "cancel", "stdin": "stdin", "wait_for": "wait_for",
	"signal": "signal", "settle": "settle", "tail_lines": "tail_lines", "notify_when": "notify_when",
}

// runKeys are what a call says that runs a command. Beside a task they would be lost.
var runKeys = []string{"command", "cmd", "script", "cwd", "writes", "reads_only", "input_for"}

// Redirect makes a call that names a task one of background_run, which has the caller's own
// tasks alone, and has text for their input judged as a command: see argname.Redirector.
func (h handler) Redirect(args json.RawMessage) (name string, changed json.RawMessage, err error) {
	given := fields(args)
	if _, ok := given["task_id"]; !ok {
		return "", nil, nil
	}
	for _, key := range runKeys {
		if _, ok := given[key]; ok {
			return "", nil, tool.Errorf(op, tool.Invalid, "a call either runs a command or sees to a task: %s and task_id "+
				"are in one", key).WithHint("make two calls, or say with stdin_text what the task is to read")
		}
	}
	mapped := map[string]json.RawMessage{}
	for key, value := range given {
		if key == "stream_pattern" {
			value = slashed(value)
		}
		if to := taskKeys[key]; to != "" {
			mapped[to] = value
		}
	}
	changed, err = json.Marshal(mapped)
	if err != nil {
		return "", nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments cannot be written", Err: err}
	}
	return backgroundTool, changed, nil
}

// fields are the arguments that say something, by the names that are known here.
func fields(args json.RawMessage) map[string]json.RawMessage {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return nil // the schema says what is wrong
	}
	fold := func(name string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	}
	known := map[string]string{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(taskKeys)), runKeys) {
		known[fold(name)] = name
	}
	named := make(map[string]json.RawMessage, len(given))
	for name, value := range given {
		if string(value) != "null" {
			named[cmp.Or(known[fold(name)], name)] = value
		}
	}
	return named
}

// slashed writes a regular expression as background_run reads one.
func slashed(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil || text == "" {
		return value // the schema says what is wrong
	}
	if out, err := json.Marshal(asExpression(text)); err == nil {
		return out
	}
	return value
}

// asExpression puts a regular expression between slashes, unless it is.
func asExpression(text string) string {
	if len(text) > 2 && strings.HasPrefix(text, "/") && strings.HasSuffix(text, "/") {
		return text
	}
	return "/" + text + "/"
}

// NotifyWhen is what the conversation of a command in the background is told of: see
// detach.Notifier.
func (h handler) NotifyWhen(args json.RawMessage) string {
	var in bashArgs
	if json.Unmarshal(args, &in) != nil || in.Pattern == "" {
		return ""
	}
	return asExpression(in.Pattern)
}

// checkTask reports what a call that runs a command says of a task and cannot be done.
func (in *bashArgs) checkTask(b tool.Background) error {
	switch {
	case in.Kill || in.Wait:
		return tool.Errorf(op, tool.Invalid, "kill and wait are for a task that runs").
			WithHint("leave command out, and give the task_id that run_in_background returned")
	case in.Pattern == "":
		return nil
	case isDetached(b):
		return tool.Errorf(op, tool.Invalid, "stream_pattern is of bash alone").
			WithHint("give background_run its notify_when, or run_in_background to bash")
	case !in.Background:
		return tool.Errorf(op, tool.Invalid, "stream_pattern is for a command in the background").
			WithHint("give run_in_background too, or the task_id of a command that runs")
	}
	_, err := window.ParsePattern(asExpression(in.Pattern))
	return err
}

// isDetached reports whether nobody waits for the call.
func isDetached(b tool.Background) bool {
	if b == nil {
		return false
	}
	select {
	case <-b.Detached():
		return true
	default:
		return false
	}
}
