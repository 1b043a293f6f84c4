// Package trial tries rules on recorded calls: which would now run, ask a human or
// be refused. Law: it reads the rules and the journal, and changes nothing. A call
// that cannot be judged for certain is counted as unknown, with the reason.
package trial

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"callgate/internal/artifact"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/policy"
	"callgate/internal/journal"
	"callgate/internal/registry"
	"callgate/tool"
)

// Outcome is what becomes of a call.
type Outcome string

// The outcomes.
const (
	Runs    Outcome = "run"
	Asks    Outcome = "ask"
	Refused Outcome = "refuse"
)

// Trial has what a trial reads. All fields but Rules are required.
type Trial struct {
	Journal   *journal.Journal
	Artifacts *artifact.Store
	Tools     *registry.View  // of the folder
	Global    *registry.View  // the kernel's own
	Grants    *lasting.Store  // lasting grants count as they would
	Rules     *policy.Rules   // that are tried; nil: an app without capabilities
	Off       map[string]bool // modules that the app leaves out
	Folder    string
	AppFile   string // in force in the folder
	Since     time.Time
}

// Report is the outcome of a trial.
type Report struct {
	Calls   int            `json:"calls"` // of the folder, that rules decided
	Groups  []Group        `json:"groups"`
	Unknown map[string]int `json:"unknown,omitempty"` // calls that cannot be judged, by the reason
}

// Group is calls of one tool that fare alike.
type Group struct {
	Tool     string    `json:"tool"`
	Before   Outcome   `json:"before"`
	Now      Outcome   `json:"now"`
	Why      string    `json:"why"` // of the outcome now
	Count    int       `json:"count"`
	Examples []Example `json:"examples"` // the newest
}

// Example is one call of a group.
type Example struct {
	Call string          `json:"call"`
	Time time.Time       `json:"time"`
	Args json.RawMessage `json:"args,omitempty"`
}

const maxExamples = 3

// Run judges every recorded call of the folder since a time.
func (t *Trial) Run(ctx context.Context) (Report, error) {
	report := Report{Groups: []Group{}, Unknown: map[string]int{}}
	records, err := t.asked(ctx)
	if err != nil {
		return report, err
	}
	type key struct {
		tool, why   string
		before, now Outcome
	}
	groups := map[key]*Group{}
	for _, r := range slices.Backward(records) {
		before, ok := outcomeBefore(r)
		if !ok {
			continue
		}
		report.Calls++
		now, why, unknown := t.judge(ctx, r)
		if unknown != "" {
			report.Unknown[unknown]++
			continue
		}
		id, _ := tool.TryParseID(r.Tool)
		k := key{id.Dotted(), why, before, now}
		g := groups[k]
		if g == nil {
			g = &Group{Tool: k.tool, Before: before, Now: now, Why: why}
			groups[k] = g
		}
		g.Count++
		if len(g.Examples) < maxExamples {
			g.Examples = append(g.Examples, Example{r.Call, r.Time, r.Ask.Args})
		}
	}
	for _, g := range groups {
		report.Groups = append(report.Groups, *g)
	}
	slices.SortFunc(report.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Tool, b.Tool), strings.Compare(a.Why, b.Why))
	})
	return report, nil
}

// asked returns the records of the folder that say what was asked for, each call
// once, the oldest first. A read has no folder on record: it is that of its
// session, where another call names it, or that of the files it claims.
func (t *Trial) asked(ctx context.Context) ([]journal.Record, error) {
	var all []journal.Record
	folders := map[string]string{} // by session
	for before := uint64(0); ; {
		page, err := t.Journal.Read(ctx, journal.Query{Before: before, Newest: true, Limit: journal.MaxRows})
		if err != nil {
			return nil, err
		}
		for _, r := range slices.Backward(page) {
			if r.Time.Before(t.Since) {
				page = nil
				break
			}
			if r.Ask == nil || r.Principal == nil || r.Principal.Daemon {
				continue
			}
			if r.Ask.Workspace != "" {
				folders[r.Principal.Session] = r.Ask.Workspace
			}
			all = append(all, r)
		}
		if len(page) < journal.MaxRows {
			break
		}
		before = page[0].Seq
	}
	seen := map[string]bool{}
	var here []journal.Record
	for _, r := range slices.Backward(all) {
		folder := cmp.Or(r.Ask.Workspace, folders[r.Principal.Session])
		if !seen[r.Call] && (folder == t.Folder || folder == "" && t.claimed(r)) {
			seen[r.Call] = true
			here = append(here, r)
		}
	}
	return here, nil
}

// claimed reports whether a call touched files of the folder.
func (t *Trial) claimed(r journal.Record) bool {
	return slices.ContainsFunc(r.Ask.Claims, func(c tool.Claim) bool {
		path, ok := strings.CutPrefix(c.Resource, "file:")
		return ok && (path == t.Folder || strings.HasPrefix(path, t.Folder+"/"))
	})
}

// outcomeBefore is what the rules of then made of a call; false where no rule
// decided, as with arguments that are wrong.
func outcomeBefore(r journal.Record) (Outcome, bool) {
	switch r.Ask.Verdict {
	case journal.Allow:
		return Runs, true
	case journal.Wait:
		return Asks, true
	default:
		return Refused, r.Tool != "" && strings.HasPrefix(r.Ask.Reason, string(tool.Denied)+":")
	}
}
