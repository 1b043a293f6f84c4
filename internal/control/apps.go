package control

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"callgate/tool"
)

// FeatureApps is the feature of call_app: it is shown where the app names others, and a
// human accepted that.
const FeatureApps = "apps"

// Times of an app that is called.
const (
	AppTime    = 2 * time.Minute
	MaxAppTime = time.Hour
)

// AppRequest is a call of call_app, read and checked.
type AppRequest struct {
	App     string
	Input   json.RawMessage // nil: none
	Timeout time.Duration
}

// CallApp has another app work for the caller.
type CallApp func(ctx context.Context, call tool.Call, r AppRequest) (*tool.Result, error)

const appText = "Call another app as a tool. It works once, in your folder, with at most your rights, " +
	"and gives its output; it sees only its input."

const appSchema = `{"type":"object","properties":{
	"app_id":{"type":"string","minLength":1,"maxLength":64,"description":"one of the apps in your instructions"},
	"input":{"description":"what it is given: a text, or what its input schema says"},
	"timeout":{"type":"integer","minimum":1,"maximum":3600,"default":120,"description":"seconds"},
	"prompt":{"type":"string","maxLength":50000,"x-hidden":true}},"required":["app_id"]}`

// AppTool makes call_app.
func AppTool(run CallApp) *tool.Tool {
	t := define(Namespace, "call_app", appText, appSchema,
		func(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
			var in struct {
				App     string          `json:"app_id"`
				Input   json.RawMessage `json:"input"`
				Prompt  *string         `json:"prompt"`
				Timeout int             `json:"timeout"`
			}
			if err := parseArgs(call, &in); err != nil {
				return nil, err
			}
			if in.Input == nil && in.Prompt != nil {
				in.Input, _ = json.Marshal(*in.Prompt) // a text always can be written
			}
			r := AppRequest{App: in.App, Input: in.Input, Timeout: time.Duration(in.Timeout) * time.Second}
			r.Timeout = min(cmp.Or(r.Timeout, AppTime), MaxAppTime)
			return run(ctx, call, r)
		})
	t.Runtime.Feature = FeatureApps
	return t
}
