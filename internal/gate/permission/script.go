package permission

import (
	"cmp"
	"encoding/json"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/match"
)

// scriptState is what a human said about the calls of a running script. It never changes.
type scriptState struct {
	session string
	allowed *permissions
	stopped string // who stopped it; empty: nobody
	why     string // what they said
	stop    func() // ends it
}

const toldStopped = "the user stopped the script; ask what they want instead"

func (s *scriptState) decide(session string, c *Call) Decision {
	if s == nil || s.session != session {
		return Decision{}
	}
	if s.stopped != "" {
		return Decision{Refuse, "stopped script", "the script was stopped, by " + s.stopped, toldStopped}
	}
	if !c.MayAllow {
		return Decision{}
	}
	d := s.allowed.decideByEntries(c)
	if d.Verdict == Allow {
		d.Rule, d.Reason = "allowed for this script", "allowed for this script: "+s.allowed.texts()
	}
	return d
}

func (p *permissions) texts() string {
	text := ""
	for i, e := range p.Allow {
		if i > 0 {
			text += "; "
		}
		text += e.String()
		if e.By != "" {
			text += " (" + e.By + ")"
		}
	}
	return text
}

// BeginScript says that a script of a session runs, until end is called. What a human
// allows for it counts until then. stop is called when a human stops it.
func (t *Table) BeginScript(session, call string, stop func()) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scripts == nil {
		t.scripts = map[string]*scriptState{}
	}
	t.scripts[call] = &scriptState{session: session, allowed: newPermissions(State{}), stop: stop}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.scripts, call)
	}
}

// Scripted takes an answer that is for the rest of a script: calls like the one that was
// asked about run without asking, or no call that a human must be asked about runs. It
// reports whether that script runs.
func (t *Table) Scripted(r approval.Request) bool {
	if r.Script == nil || r.Answer == nil || !r.Answer.Script {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.scripts[r.Script.Call]
	if now == nil || now.session != r.Call.Principal.Session {
		return false
	}
	next := *now
	if !r.Answer.Approve {
		next.stopped, next.why = cmp.Or(r.Answer.By, "a human"), r.Answer.Feedback
	} else if e, ok := scriptEntry(r); ok {
		state := now.allowed.State
		state.Allow = append(state.Allow[:len(state.Allow):len(state.Allow)], e)
		next.allowed = newPermissions(state)
	}
	t.scripts[r.Script.Call] = &next
	return true
}

// OfferScript is what a yes for the rest of a script would cover: calls of the same kind,
// as in one folder, and nothing that the human was not shown. Nil: a yes is for this call
// alone.
func OfferScript(c *Call, choices []approval.Choice) *approval.Choice {
	if !c.MayAllow || c.Match == nil {
		return nil
	}
	for _, choice := range choices {
		if choice.IsHere() && !choice.Exact && strings.Contains(string(choice.Match), "*") {
			return offered(c.Tool.ID.Dotted(), choice)
		}
	}
	if o := Offer(c, choices); o != nil && !o.Exact {
		return o
	}
	return nil
}

// scriptEntry is what a yes for the rest of a script covers.
func scriptEntry(r approval.Request) (Entry, bool) {
	if r.Script.Offer == nil {
		return Entry{}, false
	}
	var form map[string]any
	if json.Unmarshal(r.Script.Offer.Match, &form) != nil {
		return Entry{}, false
	}
	p, err := match.Compile(form)
	if err != nil {
		return Entry{}, false
	}
	return Entry{Tool: r.Call.Tool.Dotted(), Text: p.String(), By: r.Answer.By, pattern: p}, true
}

// Stopped reports whether a human stopped a script, and what they said.
func (t *Table) Stopped(call string) (why string, stopped bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.scripts[call]
	if s == nil || s.stopped == "" {
		return "", false
	}
	return s.why, true
}

// EndStopped ends a script that a human stopped. What waited in it was settled before.
func (t *Table) EndStopped(call string) {
	t.mu.Lock()
	s := t.scripts[call]
	t.mu.Unlock()
	if s != nil && s.stopped != "" && s.stop != nil {
		s.stop()
	}
}

// Asking reports whether a call of a script waits for a human.
func (t *Table) Asking(call string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waiting {
		if w.call.Script == call {
			return true
		}
	}
	return false
}
