package watch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"callgate/tool"
)

// Check is what one check gave.
type Check struct {
	At     time.Time
	Took   time.Duration
	Pushed bool            // it was made because something changed
	Result json.RawMessage // unless it failed
	Error  *tool.Error
	// Refused says that the call may not be made any more. The watcher ends, and its end
	// says so.
	Refused bool
}

// Check decides about a check: whether it is told, which Pending then says, and whether
// the watcher has ended, which its status then says. A notice that is still pending must
// be told before: the next one takes its place.
func (w *Watcher) Check(c Check) (told bool) {
	digest, raw := w.digest(c)
	first := w.Last.Digest == ""
	changed := !first && digest != w.Last.Digest
	w.count(c, changed)
	why, problem, matched := w.decide(c, first, changed)
	failures := 0
	if c.Error != nil {
		failures = w.Last.Failures + 1
	}
	if c.Refused {
		why = ""
	} else if why == "" && failures == failuresTold && (w.Notify.When == OnCondition || w.Notify.When == Summary) {
		why = strconv.Itoa(failures) + " checks in a row failed"
	}
	entry := Entry{Number: w.Checks, At: c.At.Round(0).UTC(), Notified: why != "", Same: !first && !changed}
	if !entry.Same {
		entry.Result, entry.Error = Preview(c.Result, PreviewHistory), errorText(c.Error, PreviewHistory)
	}
	w.remember(entry)
	if w.Notify.When == Summary {
		if whole := w.Entries(1); len(whole) == 1 {
			w.Batch = append(w.Batch, whole[0])
		}
		if len(w.Batch) >= w.Notify.Batch && !c.Refused {
			why = fmt.Sprintf("%d checks were made", len(w.Batch))
		}
	}
	values := func() map[string]any { return w.values(c, changed, why) }
	if why != "" {
		w.prepare(c, why, values)
		w.History[len(w.History)-1].Notified = true
	}
	w.keep(c, digest, raw, failures, matched, problem)
	w.endIfOver(c)
	return why != ""
}

// count keeps the numbers of a check.
func (w *Watcher) count(c Check, changed bool) {
	w.Checks++
	m, ms := &w.Metrics, float64(c.Took.Microseconds())/1000
	m.TotalMS, m.MaxMS, m.LastMS = m.TotalMS+ms, max(m.MaxMS, ms), ms
	if c.Error != nil {
		m.Failures++
	}
	if changed {
		m.Changes++
	}
	if c.Pushed {
		m.Pushed++
	}
}

// decide says why a check is told; "": it is not.
func (w *Watcher) decide(c Check, first, changed bool) (why, problem string, matched bool) {
	if w.Notify.When == OnCondition {
		matched, problem = w.matches(c, changed)
	}
	failed := c.Error != nil
	switch {
	case w.Notify.When == EveryCheck:
		why = "each check is told"
	case first && w.Notify.First:
		why = "this is the first check"
	case w.Notify.When == OnChange && changed && failed:
		why = "the check failed"
	case w.Notify.When == OnChange && changed && w.Last.Failures > 0:
		why = "the check works again"
	case w.Notify.When == OnChange && changed:
		why = "the result changed"
	case w.Notify.When == OnError && failed && w.Last.Failures == 0:
		why = "checks fail now"
	case w.Notify.When == OnError && !failed && w.Last.Failures > 0:
		why = "checks work again"
	case problem != "" && w.Last.Problem == "":
		why = "the condition could not be decided: " + problem
	case matched && !w.Last.Matched:
		why = "the condition is true now: " + w.Notify.Expression
	case matched && w.Notify.Repeat:
		why = "the condition is true: " + w.Notify.Expression
	}
	return why, problem, matched
}

// matches decides the condition. A check that failed decides only a condition about
// errors; any other stays as it was.
func (w *Watcher) matches(c Check, changed bool) (matched bool, problem string) {
	if c.Error != nil && !w.condition.Uses("error") && !w.condition.Uses("check") {
		return w.Last.Matched, w.Last.Problem
	}
	matched, err := w.condition.Eval(w.values(c, changed, ""))
	if err == nil {
		return matched, ""
	}
	if c.Error != nil { // the result it speaks of is not there, and why is told elsewhere
		return w.Last.Matched, w.Last.Problem
	}
	return false, err.Error()
}

// values are what the condition and the places of actions speak of.
func (w *Watcher) values(c Check, changed bool, why string) map[string]any {
	v := map[string]any{
		"result": decode(c.Result), "previous": decode(w.Last.Result), "error": nil,
		"check": map[string]any{
			"number": int64(w.Checks), "at": c.At.UTC().Format(time.RFC3339), "failed": c.Error != nil,
			"took_ms": float64(c.Took.Microseconds()) / 1000, "changed": changed, "why": why,
		},
		"watcher": map[string]any{"id": w.ID, "label": w.Label, "tool": w.Tool},
	}
	if c.Error != nil {
		v["error"] = c.Error.Error()
	}
	return v
}

// decode reads a result. What is no JSON cannot be one.
func decode(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// prepare makes the notice of a check. It is told when it is on disk.
func (w *Watcher) prepare(c Check, why string, values func() map[string]any) {
	w.Notices++
	n := &Notice{ID: w.ID + "-n" + strconv.Itoa(w.Notices), Check: w.Checks}
	for i, t := range w.actions {
		call := Call{ID: n.ID + "-a" + strconv.Itoa(i+1), Tool: w.Actions[i].Tool}
		params, err := t.Render(values())
		switch {
		case err != nil:
			call.Error = err.Error()
		case string(params) != "null":
			call.Params = params
		}
		n.Actions = append(n.Actions, call)
	}
	n.Text = w.text(c, why)
	w.Pending, w.Batch = n, nil
}

// keep stores what the next check is compared with.
func (w *Watcher) keep(c Check, digest, raw string, failures int, matched bool, problem string) {
	l := &w.Last
	l.At, l.Digest, l.Failures, l.Matched, l.Problem = c.At.Round(0).UTC(), digest, failures, matched, problem
	w.raw = raw
	l.Error = errorText(c.Error, PreviewNotice)
	if c.Error != nil {
		return
	}
	l.Preview = Preview(c.Result, PreviewNotice)
	l.Result = nil
	if w.condition != nil && w.condition.Uses("previous") || len(w.actions) > 0 {
		if l.Result = c.Result; len(l.Result) > maxPrevious {
			l.Result = nil
		}
	}
}

// endIfOver ends a watcher that may not go on, or whose checks are made.
func (w *Watcher) endIfOver(c Check) {
	switch {
	case c.Refused:
		w.End(Failed, "its call is not allowed any more: "+errorText(c.Error, PreviewNotice))
	case w.MaxChecks > 0 && w.Checks >= w.MaxChecks:
		w.End(Completed, fmt.Sprintf("its %d checks are made", w.MaxChecks))
	}
}

// digest names what a check gave: equal digests are equal results. The order of an
// object's fields does not count. raw is that of the bytes as they came, which spares
// the rest when they are the same.
func (w *Watcher) digest(c Check) (digest, raw string) {
	if c.Error != nil {
		return sum("error", []byte(string(c.Error.Kind)+"\x00"+c.Error.Error())), ""
	}
	raw = sum("raw", c.Result)
	if raw == w.raw && w.Last.Digest != "" {
		return w.Last.Digest, raw
	}
	canonical, err := json.Marshal(decode(c.Result))
	if err != nil {
		canonical = c.Result
	}
	return sum("result", canonical), raw
}

func sum(kind string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:16])
}
