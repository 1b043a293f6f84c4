package lasting

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/match"
)

// minApproved is how often a human must have approved calls of one pattern before
// it is proposed.
const minApproved = 3

// maxExamples is how many calls a suggestion shows.
const maxExamples = 3

// Suggestion is a pattern whose calls a human approved again and again, and never
// denied.
type Suggestion struct {
	Grant    Grant             `json:"grant"` // without an ID: what would be kept
	Approved int               `json:"approved"`
	Last     time.Time         `json:"last"`
	Examples []json.RawMessage `json:"examples"` // arguments, the newest first
}

// Suggest proposes lasting grants from the requests of the past. covered reports
// whether a grant covers a call already.
func Suggest(past []approval.Request, covered func(*Call) bool) []Suggestion {
	found := map[string]*Suggestion{}
	var order []string
	for _, r := range slices.Backward(past) {
		if r.State != approval.Approved && r.State != approval.Used || covered(callOf(r)) {
			continue
		}
		for _, choice := range r.Choices {
			if choice.Exact || !choice.IsHere() {
				continue
			}
			key := suggestionKey(r, choice)
			s := found[key]
			if s == nil {
				s = &Suggestion{Last: r.AskedAt, Grant: Grant{
					Tool: r.Call.Tool.Dotted(), Text: choice.Text, Match: choice.Match, Folder: r.Workspace, AppFile: r.ToolApp,
				}}
				found[key], order = s, append(order, key)
			}
			s.Approved++
			if len(s.Examples) < maxExamples {
				s.Examples = append(s.Examples, r.Call.Args)
			}
		}
	}
	var all []Suggestion
	for _, key := range order {
		if s := found[key]; s.Approved >= minApproved && !wasDenied(s.Grant, key, past) {
			all = append(all, *s)
		}
	}
	slices.SortStableFunc(all, func(a, b Suggestion) int { return cmp.Compare(b.Approved, a.Approved) })
	return narrowest(all)
}

// narrowest leaves out a pattern that covers no more of the past than one before
// it: a request lists its patterns from narrow to wide.
func narrowest(all []Suggestion) []Suggestion {
	var kept []Suggestion
	for _, s := range all {
		same := func(k Suggestion) bool {
			return k.Approved == s.Approved && k.Last.Equal(s.Last) && k.Grant.Tool == s.Grant.Tool &&
				k.Grant.Folder == s.Grant.Folder
		}
		if !slices.ContainsFunc(kept, same) {
			kept = append(kept, s)
		}
	}
	return kept
}

func suggestionKey(r approval.Request, c approval.Choice) string {
	return strings.Join([]string{r.Call.Tool.Dotted(), r.Workspace, r.ToolApp, string(c.Match)}, "\x00")
}

// wasDenied reports whether a human denied a call that a grant would cover.
func wasDenied(g Grant, key string, past []approval.Request) bool {
	g.ID = "suggested"
	for _, r := range past {
		if r.State != approval.Denied {
			continue
		}
		if fits, err := g.Fits(callOf(r)); err != nil || fits {
			return true
		}
		for _, choice := range r.Choices {
			if suggestionKey(r, choice) == key {
				return true
			}
		}
	}
	return false
}

// callOf is the call of a request, with the paths that its claims are about left
// out: a pattern over paths is compared by the text of the arguments then.
func callOf(r approval.Request) *Call {
	call := &match.Call{Module: r.Call.Tool.Namespace, Action: r.Call.Tool.Name, Workspace: r.Workspace}
	_ = json.Unmarshal(r.Call.Args, &call.Args) // what cannot be read fits nothing
	return &Call{Call: call, AppFile: r.ToolApp, App: r.Call.Principal.App}
}
