package tool

import (
	"encoding/json"
	"fmt"
)

// Mode is how a call holds a resource. Resources form a tree, and holding a
// node in S, U or X takes the matching intention on each of its ancestors.
//
//	      IS  IX  S   U   X
//	IS    ✓   ✓   ✓   ✓   –     a reader somewhere below
//	IX    ✓   ✓   –   –   –     a writer somewhere below
//	S     ✓   –   ✓   ✓   –     reads all of it
//	U     ✓   –   ✓   –   –     changes it atomically: readers pass, writers wait
//	X     –   –   –   –   –     alone
type Mode uint8

// The modes, weakest first.
const (
	IS Mode = iota + 1
	IX
	S
	U
	X
)

var modeNames = [...]string{IS: "IS", IX: "IX", S: "S", U: "U", X: "X"}

// String writes the mode's letters.
func (m Mode) String() string {
	if m.Valid() {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Valid reports whether m is one of the five modes.
func (m Mode) Valid() bool { return IS <= m && m <= X }

// Writes reports whether holding m permits a change.
func (m Mode) Writes() bool { return m == IX || m == U || m == X }

// MarshalText writes the mode's letters.
func (m Mode) MarshalText() ([]byte, error) {
	if !m.Valid() {
		return nil, Errorf("tool.Mode", Invalid, "lock mode %d is not one of IS, IX, S, U, X", uint8(m))
	}
	return []byte(modeNames[m]), nil
}

// UnmarshalText reads IS, IX, S, U or X.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode, name := range modeNames {
		if name != "" && name == string(text) {
			*m = Mode(mode)
			return nil
		}
	}
	return Errorf("tool.Mode", Invalid, "lock mode %q is not one of IS, IX, S, U, X", Truncate(string(text)))
}

// Effect is what a call would touch, before its arguments are known: a
// resource template and a mode. The template "workspace" is the session's own
// folder; "file:{path}" names the argument path, made canonical. An argument
// that is a list gives one claim per element; one that is absent gives none.
// "host:{url|host}" names the host of the URL in the argument url, and
// "file:{patch|files}" the files that the patch in the argument patch names.
//
// host:{url|host} and to:{recipient} also declare a destination: the call sends data to
// where that argument says, so that the default rules ask about it.
//
// An effect can depend on what the call says of itself: with When it counts
// only if that argument is set, with Unless only if none of those is. An
// argument is set when it is there and is not null, false, an empty text or an
// empty list. A call that declares nothing should be taken for the worst, so
// the widest effect of a tool is the one with Unless.
//
// Folder is for a tool that does not work in the workspace: the relative paths
// of such an effect begin there, and may lead anywhere. It orders calls and is no
// rule: a call is not refused for such a path, and rules about paths do not see it.
type Effect struct {
	Resource string   `json:"resource"`
	Mode     Mode     `json:"mode"`
	When     string   `json:"when,omitempty"`
	Unless   []string `json:"unless,omitempty"`
	Folder   string   `json:"folder,omitempty"` // absolute
}

// Claim is an effect bound to one call: a canonical resource and a mode.
// Only binding makes claims, so a claim can be trusted as a lock name.
type Claim struct {
	Resource string `json:"resource"`
	Mode     Mode   `json:"mode"`
}

// validate checks an effect of a tool, also against the tool's parameters
// where it names them: a condition on one that does not exist would never
// hold, and an effect would silently be missing.
func (e Effect) validate(t *Tool) error {
	const op = "tool.Validate"
	if !e.Mode.Valid() || e.Resource == "" {
		return Errorf(op, Invalid, "%s has an effect without a resource or with a mode that is not IS, IX, S, U or X", t.ID)
	}
	// What leaves nothing behind may still change something that the calls after it see,
	// such as the page in a browser. It says so with IX, which keeps no reader out.
	if e.Mode.Writes() && e.Mode != IX && !t.Runtime.SideEffect.Durable() {
		return Errorf(op, Invalid, "%s claims %s on %q yet says its side effect is %q",
			t.ID, e.Mode, Truncate(e.Resource), t.Runtime.SideEffect)
	}
	if e.When == "" && len(e.Unless) == 0 {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(t.Spec.Input, &schema); err != nil {
		return Errorf(op, Invalid, "the input schema of %s cannot be read: %w", t.ID, err)
	}
	names := e.Unless
	if e.When != "" {
		names = append(names[:len(names):len(names)], e.When)
	}
	for _, name := range names {
		if _, ok := schema.Properties[name]; !ok && len(schema.Properties) > 0 {
			return Errorf(op, Invalid, "%s has an effect on %q that depends on the parameter %q, which it does not have",
				t.ID, Truncate(e.Resource), Truncate(name))
		}
	}
	return nil
}
