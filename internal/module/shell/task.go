package shell

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
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
	"timeout_ms": "timeout", "timeout_seconds": "timeout", "timeout_secs": "timeout",
}

// runKeys are what a call says that runs a command. Beside a task they would be lost.
var runKeys = []string{"command", "cmd", "script", "cwd", "writes", "reads_only", "input_for"}

// Redirect makes a call that names a task one of background_run, which has the caller's own
// tasks alone, and has text for their input judged as a command: see argname.Redirector.
func (h handler) Redirect(args json.RawMessage) (name string, changed json.RawMessage, err error) {
	given := fields(args)
	if given.isTask() {
		changed, err = given.forTask()
	} else if changed = given.inputForTask(); changed == nil {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	return backgroundTool, changed, nil
}

// field is one argument.
type field struct {
	name, given string // as it is known here, and as it was spelled
	value       json.RawMessage
}

// fieldList is the arguments that say something, by how they were spelled.
type fieldList []field

// fields reads arguments. Names are known in other spellings too.
func fields(args json.RawMessage) fieldList {
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
	var list fieldList
	for _, spelled := range slices.Sorted(maps.Keys(given)) {
		f := field{cmp.Or(known[fold(spelled)], spelled), spelled, given[spelled]}
		if !f.saysNothing() {
			list = append(list, f)
		}
	}
	return list
}

// saysNothing reports whether an argument is as if it were not there.
func (f *field) saysNothing() bool {
	if f.name == "task_id" {
		var id string
		return string(f.value) == "null" || json.Unmarshal(f.value, &id) == nil && strings.TrimSpace(id) == ""
	}
	return slices.Contains([]string{"null", `""`, "[]", "false"}, string(f.value))
}

func (l fieldList) isTask() bool {
	return slices.ContainsFunc(l, func(f field) bool { return f.name == "task_id" })
}

// forTask returns a call that names a task in the words of background_run.
func (l fieldList) forTask() (json.RawMessage, error) {
	mapped, spelled := map[string]json.RawMessage{}, map[string]string{}
	for _, f := range l {
		if slices.Contains(runKeys, f.name) {
			return nil, tool.Errorf(op, tool.Invalid, "a call either runs a command or sees to a task: %s and task_id "+
				"are in one", f.given).WithHint("make two calls, or say with stdin_text what the task is to read")
		}
		to := taskKeys[f.name]
		if to == "" {
			continue
		}
		if other, ok := spelled[to]; ok {
			return nil, tool.Errorf(op, tool.Invalid, "%s and %s mean the same: which of them counts is not known", other,
				f.given).WithHint("give one of them")
		}
		spelled[to], mapped[to] = f.given, f.forTask()
	}
	return encoded(mapped)
}

// forTask returns a value as background_run reads it.
func (f *field) forTask() json.RawMessage {
	switch f.name {
	case "stream_pattern":
		return slashed(f.value)
	case "timeout", "timeout_ms":
		var n float64
		if json.Unmarshal(f.value, &n) == nil && (n > maxWait || f.name == "timeout_ms") {
			return json.RawMessage(strconv.FormatFloat(max(math.Ceil(n/1000), 1), 'f', -1, 64))
		}
	}
	return f.value
}

// maxWait is the longest time in seconds that a task is waited for. A larger number is one
// of milliseconds, as elsewhere.
const maxWait = 3600

// inputForTask returns a call that says for which task its command is input, in the words
// of background_run, which has it judged as what it is; nil: it is no such call, or the one
// that background_run makes.
func (l fieldList) inputForTask() json.RawMessage {
	mapped := map[string]json.RawMessage{}
	for _, f := range l {
		switch f.name {
		case "input_for":
			mapped["task_id"] = f.value
		case "command":
			mapped["stdin"] = f.value
		case "eof":
			mapped["eof"] = f.value
		case "task_command", "stdin_text":
			return nil // the handler says what is wrong, if something is
		}
	}
	if mapped["task_id"] == nil || mapped["stdin"] == nil {
		return nil
	}
	changed, err := encoded(mapped)
	if err != nil {
		return nil
	}
	return changed
}

func encoded(args map[string]json.RawMessage) (json.RawMessage, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments cannot be written", Err: err}
	}
	return raw, nil
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
