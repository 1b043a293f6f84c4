package watch

import (
	"encoding/json"
	"math"
	"time"
)

// Overview is a watcher in a list.
type Overview struct {
	ID         string     `json:"watcher_id"`
	Tool       string     `json:"tool_name"`
	Label      string     `json:"label"`
	Status     Status     `json:"status"`
	Interval   float64    `json:"interval"` // seconds
	NotifyWhen Strategy   `json:"notify_when"`
	MaxChecks  int        `json:"max_checks"`
	Checks     int        `json:"check_count"`
	Notices    int        `json:"notify_count"`
	LastCheck  *time.Time `json:"last_check_at"`
	LastError  *string    `json:"last_error"`
	Created    time.Time  `json:"created_at"`
	Expires    *time.Time `json:"expires_at,omitempty"`
	Next       *time.Time `json:"next_check_at,omitempty"`
	Push       string     `json:"push,omitempty"` // what also causes a check
	Why        string     `json:"ended_because,omitempty"`
}

// Overview returns the watcher for a list.
func (w *Watcher) Overview(created time.Time) Overview {
	return Overview{
		ID: w.ID, Tool: w.Tool, Label: w.Label, Status: w.Status, Interval: w.Interval.Seconds(), NotifyWhen: w.Notify.When,
		MaxChecks: w.MaxChecks, Checks: w.Checks, Notices: w.Notices, LastCheck: optional(w.Last.At),
		LastError: optional(w.Last.Error), Created: created.UTC(), Expires: optional(w.Expires), Next: optional(w.Next),
		Why: w.Why,
	}
}

func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Detail is a watcher with all that is known of it.
type Detail struct {
	Overview
	Params       json.RawMessage `json:"params,omitempty"`
	NotifyConfig Notify          `json:"notify_config"`
	Actions      []Action        `json:"actions,omitempty"`
	LastResult   string          `json:"last_result,omitempty"`
	LastNotice   string          `json:"last_notice,omitempty"`
	Metrics      Numbers         `json:"metrics"`
	History      []Entry         `json:"history"`
}

// Numbers are the metrics as they are shown.
type Numbers struct {
	Checks    int     `json:"checks"`
	Failures  int     `json:"failures"`
	Changes   int     `json:"changes"`
	Notices   int     `json:"notices"`
	Missed    int     `json:"missed"`
	Pushed    int     `json:"pushed"`
	AverageMS float64 `json:"average_ms"`
	MaxMS     float64 `json:"max_ms"`
	LastMS    float64 `json:"last_ms"`
}

// LastEntries is how many checks a Detail shows unless it is asked for more.
const LastEntries = 5

// Detail returns all that is known of the watcher, with its last n checks.
func (w *Watcher) Detail(created time.Time, n int) Detail {
	m := w.Metrics
	average := 0.0
	if w.Checks > 0 {
		average = math.Round(m.TotalMS/float64(w.Checks)*1000) / 1000
	}
	d := Detail{
		Overview: w.Overview(created), Params: w.Params, NotifyConfig: w.Notify, Actions: w.Spec.Actions,
		LastResult: w.Last.Preview, History: w.Entries(n),
		Metrics: Numbers{
			Checks: w.Checks, Failures: m.Failures, Changes: m.Changes, Notices: w.Notices, Missed: m.Missed,
			Pushed: m.Pushed, AverageMS: average, MaxMS: m.MaxMS, LastMS: m.LastMS,
		},
	}
	if w.Pending != nil {
		d.LastNotice = w.Pending.Text
	}
	return d
}
