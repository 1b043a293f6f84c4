package trust

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"callgate/internal/source/mcp/trust/visible"
	"callgate/tool"
)

// Stamp says who decided something, and when. Nobody decided what first use
// pinned.
type Stamp struct {
	By string    `json:"by,omitempty"`
	At time.Time `json:"at"`
}

// Pin is a definition that may be published.
type Pin struct {
	Definition Definition `json:"definition"`
	Hash       Hash       `json:"hash"`
	FirstUse   bool       `json:"first_use,omitempty"` // no human accepted it
	Stamp
}

// DefinitionRef names one definition by its name and its hash. Accepting takes the
// hash, so that a server which changes a tool again between the showing and
// the answer gains nothing by it. [Held.Pick] makes one.
type DefinitionRef struct {
	Name string `json:"name"`
	Hash Hash   `json:"hash"`
}

// keepRejected is how many refusals of one tool are remembered.
const keepRejected = 16

// Servers returns the keys of all servers that something is known of, sorted.
func (s *Store) Servers() ([]string, error) {
	b, _, err := s.load()
	return slices.Sorted(maps.Keys(b)), err
}

// Accepted returns the pins of a server, by name, those of tools that have
// vanished among them.
func (s *Store) Accepted(key string) ([]Pin, error) {
	b, _, err := s.load()
	if err != nil || b[key] == nil {
		return nil, err
	}
	var out []Pin
	for _, name := range slices.Sorted(maps.Keys(b[key].Tools)) {
		if a := b[key].Tools[name].Accepted; a != nil {
			out = append(out, *a)
		}
	}
	return out, nil
}

// Pending returns what is held of a server, by name, as its last review left
// it. What was rejected is among it, and says so.
func (s *Store) Pending(key string) ([]Held, error) {
	b, _, err := s.load()
	if err != nil || b[key] == nil {
		return nil, err
	}
	var out []Held
	for _, name := range slices.Sorted(maps.Keys(b[key].Tools)) {
		r := b[key].Tools[name]
		if w := r.Waiting; w != nil {
			out = append(out, r.held(w.Definition, w.Hash, w.Reason, w.Findings))
		}
	}
	return out, nil
}

// Unreviewed returns what first use pinned of a server and no human has accepted, by
// name: what a strict review holds beside what is pending.
func (s *Store) Unreviewed(key string) ([]Held, error) {
	b, _, err := s.load()
	if err != nil || b[key] == nil {
		return nil, err
	}
	var out []Held
	for _, name := range slices.Sorted(maps.Keys(b[key].Tools)) {
		r := b[key].Tools[name]
		if a := r.Accepted; a != nil && a.FirstUse && r.Gone.IsZero() && r.Waiting == nil {
			out = append(out, r.held(a.Definition, a.Hash, Unpinned, nil))
		}
	}
	return out, nil
}

// Accept lets the picked definitions be published from the next review on, in
// the name of whoever was shown them. It accepts all of them or none. To accept
// all that waits, show and pick all of Pending. A pin that first use made can
// be accepted too, and is then a human's.
func (s *Store) Accept(key, by string, picks ...DefinitionRef) error {
	return s.decide("trust.Accept", key, by, picks, func(r *record, p DefinitionRef, stamp Stamp) {
		r.Accepted = &Pin{Definition: r.definition(p.Hash), Hash: p.Hash, Stamp: stamp}
		if r.Waiting != nil && r.Waiting.Hash == p.Hash {
			r.Waiting = nil
		}
		r.clearRejection(p.Hash)
	})
}

// Reject keeps the picked definitions held, and remembers who wanted that. It
// may be used on what is published as well, and takes that back.
func (s *Store) Reject(key, by string, picks ...DefinitionRef) error {
	return s.decide("trust.Reject", key, by, picks, func(r *record, p DefinitionRef, stamp Stamp) {
		if a := r.Accepted; a != nil && a.Hash == p.Hash {
			if r.Waiting == nil && r.Gone.IsZero() {
				r.Waiting = &waiting{Definition: a.Definition, Hash: a.Hash, Since: stamp.At}
			}
			if r.Waiting != nil {
				r.Waiting.Reason = Unpinned
			}
			r.Accepted, r.Gone = nil, time.Time{}
		}
		r.clearRejection(p.Hash)
		r.Rejected = append(r.Rejected, refusal{p.Hash, stamp})
		r.Rejected = r.Rejected[max(0, len(r.Rejected)-keepRejected):]
	})
}

// decide applies a human's answer to each pick, if all of them are what stands
// in the book.
func (s *Store) decide(op, key, by string, picks []DefinitionRef, apply func(*record, DefinitionRef, Stamp)) error {
	if by == "" || !utf8.ValidString(by) {
		return tool.Errorf(op, tool.Invalid, "nobody decided this: an answer carries the name of who gave it")
	}
	if len(picks) == 0 {
		return tool.Errorf(op, tool.Invalid, "no tool is picked").WithHint("name the tools that were shown")
	}
	stamp := Stamp{by, timestamp()}
	return s.update(op, func(b pinFile) error {
		for _, p := range picks {
			r, err := b.find(op, key, p)
			if err != nil {
				return err
			}
			apply(r, p, stamp)
		}
		return nil
	})
}

// find returns the record of a pick, if the book still has what was picked.
func (b pinFile) find(op, key string, p DefinitionRef) (*record, error) {
	sv := b[key]
	if sv == nil {
		return nil, &tool.Error{Op: op, Kind: tool.NotFound, Message: "no MCP server " + visible.Text(tool.Truncate(key)) + " has shown any tools yet", Similar: slices.Sorted(maps.Keys(b)),
			Hint: "connect to it first"}
	}
	name := visible.Text(tool.Truncate(p.Name))
	r := sv.Tools[p.Name]
	switch {
	case r == nil || r.Waiting == nil && r.Accepted == nil:
		return nil, tool.Errorf(op, tool.NotFound, "the server has no tool %s that could be decided on", name).WithHint("look at what waits now")
	case r.definition(p.Hash).Name == "":
		return nil, tool.Errorf(op, tool.Conflict, "the tool %s has changed again since it was shown", name).WithHint("look at it again before answering")
	}
	return r, nil
}

// definition returns the waiting or accepted definition that has this hash.
func (r *record) definition(h Hash) Definition {
	switch {
	case r.Waiting != nil && r.Waiting.Hash == h:
		return r.Waiting.Definition
	case r.Accepted != nil && r.Accepted.Hash == h:
		return r.Accepted.Definition
	}
	return Definition{}
}

func (r *record) clearRejection(h Hash) {
	r.Rejected = slices.DeleteFunc(r.Rejected, func(no refusal) bool { return no.Hash == h })
}
