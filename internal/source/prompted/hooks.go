package prompted

import (
	"encoding/json"
	"time"

	"callgate/llmtool"
	"callgate/tool"
)

// start tells that a model is about to be asked.
func (r *run) start(c candidate) {
	if hook := r.runner.Hooks.OnInternalToolCallStart; hook != nil {
		hook(llmtool.CallStart{
			ToolID: r.definition.ID, Input: r.call.Args, ChosenModel: c.name, Attempt: max(1, len(r.tried)),
		})
	}
}

// complete tells that a model gave the result.
func (r *run) complete(c candidate, out json.RawMessage) {
	if hook := r.runner.Hooks.OnInternalToolCallComplete; hook != nil {
		hook(llmtool.CallComplete{
			ToolID: r.definition.ID, Input: r.call.Args, Output: out, ChosenModel: c.name,
			LatencyMs: time.Since(r.began).Milliseconds(), Attempts: len(r.tried), Usage: sum(r.attempts),
		})
	}
}

// fail tells that a model failed, and whether another is asked.
func (r *run) fail(c candidate, err error, more bool) {
	if hook := r.runner.Hooks.OnInternalToolCallError; hook != nil {
		hook(llmtool.CallError{
			ToolID: r.definition.ID, Input: r.call.Args, ChosenModel: c.name, Error: err.Error(),
			Attempt: max(1, len(r.tried)), WillRetry: more,
		})
	}
	if more {
		r.warn(llmtool.Warning{Code: llmtool.WarnFallback, FailedModel: c.name, ErrorMessage: err.Error()})
	}
}

// warn tells a warning.
func (r *run) warn(w llmtool.Warning) {
	if hook := r.runner.Hooks.OnWarning; hook != nil {
		w.ToolID = r.definition.ID
		hook(w)
	}
}

// sum adds up what requests took; nil: there were none. The cost is known if that of each is.
func sum(attempts []tool.Attempt) *llmtool.Usage {
	if len(attempts) == 0 {
		return nil
	}
	total := &llmtool.Usage{Priced: true}
	for _, a := range attempts {
		total.Input += a.Input
		total.Output += a.Output
		total.Cost += a.Cost
		total.Priced = total.Priced && (a.Priced || a.Input+a.Output == 0)
	}
	return total
}
