package control

import (
	"cmp"
	"context"
	"strings"
	"time"

	"callgate/tool"
)

// Times of a script, without what it waits for humans.
const (
	ScriptTime    = 5 * time.Minute
	MaxScriptTime = 30 * time.Minute
)

// ScriptRequest is a call of run_script, read and checked.
type ScriptRequest struct {
	Program string
	Timeout time.Duration
}

// Script runs a program over the tools of a call's session.
type Script func(ctx context.Context, call tool.Call, r ScriptRequest) (*tool.Result, error)

const scriptText = "Run a short Starlark program (Python without import, try, class and f-strings) over your tools; " +
	"only its result comes back, so loop, filter and count there. " +
	"Tools are functions: filesystem.read(path=\"a\", line_numbers=False) gives text and fields. " +
	"attempt(lambda: …) has .ok, .value, .error of a call that may fail; parallel(f, items) makes calls side by side."

const scriptSchema = `{"type":"object","properties":{
	"program":{"type":"string","maxLength":16384,"description":"it sets result"},
	"timeout":{"type":"integer","minimum":1,"maximum":1800,"default":300,"description":"seconds"},
	"description":{"type":"string","maxLength":300},
	"script":{"type":"string","maxLength":16384,"x-hidden":true},
	"code":{"type":"string","maxLength":16384,"x-hidden":true}}}`

// ScriptTool makes run_script.
func ScriptTool(run Script) *tool.Tool {
	t := define(Namespace, "run_script", scriptText, scriptSchema,
		func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
			var in struct {
				Program string `json:"program"`
				Script  string `json:"script"`
				Code    string `json:"code"`
				Timeout int    `json:"timeout"`
			}
			if err := parseArgs(call, &in); err != nil {
				return nil, err
			}
			r := ScriptRequest{
				Program: cmp.Or(in.Program, in.Script, in.Code), Timeout: time.Duration(in.Timeout) * time.Second,
			}
			if strings.TrimSpace(r.Program) == "" {
				return nil, tool.Errorf("run_script", tool.Invalid, "there is no program").
					WithHint(`give one: {"program":"result = len(filesystem.read(path=\"a.txt\"))"}`)
			}
			if r.Timeout <= 0 {
				r.Timeout = ScriptTime
			}
			r.Timeout = min(r.Timeout, MaxScriptTime)
			return run(ctx, call, r)
		})
	t.Runtime.Idempotent = false // its calls decide that
	return t
}
