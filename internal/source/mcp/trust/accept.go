package trust

import (
	"context"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"callgate/internal/document"
	"callgate/internal/visible"
	"callgate/tool"
)

// Stamp says who decided something, and when. By is empty for what first use
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

// DefinitionRef names one definition by its name and its hash. Because accepting
// needs the hash, a server gains nothing by changing a tool while a human looks
// at it. [Held.Ref] makes one.
type DefinitionRef struct {
	Name string `json:"name"`
	Hash Hash   `json:"hash"`
}

// keepRejected is how many rejections of one tool are kept.
const keepRejected = 16

// Servers returns the keys of all servers of which something is kept, sorted.
func (s *Store) Servers() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	all, err := document.ListAll(ctx, s.docs, collection, "")
	keys := make([]string, len(all))
	for i, doc := range all {
		keys[i] = doc.Key
	}
	return keys, err
}

// Accepted returns the pins of a server, by name, also of tools that it no longer
// lists.
func (s *Store) Accepted(key string) ([]Pin, error) {
	sv, err := s.current("trust.Accepted", key)
	if err != nil {
		return nil, err
	}
	var out []Pin
	for _, name := range slices.Sorted(maps.Keys(sv.Tools)) {
		if a := sv.Tools[name].Accepted; a != nil {
			out = append(out, *a)
		}
	}
	return out, nil
}

// Pending returns the held definitions of a server, by name, as its last review
// left them. Rejected ones are among them, and say so.
func (s *Store) Pending(key string) ([]Held, error) {
	sv, err := s.current("trust.Pending", key)
	if err != nil {
		return nil, err
	}
	var out []Held
	for _, name := range slices.Sorted(maps.Keys(sv.Tools)) {
		r := sv.Tools[name]
		if w := r.Waiting; w != nil {
			out = append(out, r.held(w.Definition, w.Hash, w.Reason, w.Findings))
		}
	}
	return out, nil
}

// Unreviewed returns the definitions of a server that first use pinned and no
// human has accepted, by name. A strict review holds them too.
func (s *Store) Unreviewed(key string) ([]Held, error) {
	sv, err := s.current("trust.Unreviewed", key)
	if err != nil {
		return nil, err
	}
	var out []Held
	for _, name := range slices.Sorted(maps.Keys(sv.Tools)) {
		r := sv.Tools[name]
		if a := r.Accepted; a != nil && a.FirstUse && r.Gone.IsZero() && r.Waiting == nil {
			out = append(out, r.held(a.Definition, a.Hash, Unpinned, nil))
		}
	}
	return out, nil
}

// Accept publishes the named definitions from the next review on, in the name of
// the human who was shown them. It accepts all of them or none. A pin that first
// use made can be accepted too, and is then a human's.
func (s *Store) Accept(key, by string, refs ...DefinitionRef) error {
	return s.decide("trust.Accept", key, by, refs, func(r *record, ref DefinitionRef, stamp Stamp) {
		r.Accepted = &Pin{Definition: r.definition(ref.Hash), Hash: ref.Hash, Stamp: stamp}
		if r.Waiting != nil && r.Waiting.Hash == ref.Hash {
			r.Waiting = nil
		}
		r.clearRejection(ref.Hash)
	})
}

// Reject keeps the named definitions held, and remembers who rejected them. A
// definition that is published can be rejected too; then it is held.
func (s *Store) Reject(key, by string, refs ...DefinitionRef) error {
	return s.decide("trust.Reject", key, by, refs, func(r *record, ref DefinitionRef, stamp Stamp) {
		if a := r.Accepted; a != nil && a.Hash == ref.Hash {
			if r.Waiting == nil && r.Gone.IsZero() {
				r.Waiting = &waiting{Definition: a.Definition, Hash: a.Hash, Since: stamp.At}
			}
			if r.Waiting != nil {
				r.Waiting.Reason = Unpinned
			}
			r.Accepted, r.Gone = nil, time.Time{}
		}
		r.clearRejection(ref.Hash)
		r.Rejected = append(r.Rejected, refusal{ref.Hash, stamp})
		r.Rejected = r.Rejected[max(0, len(r.Rejected)-keepRejected):]
	})
}

// decide applies a human's decision to each definition, if all of them are
// kept.
func (s *Store) decide(op, key, by string, refs []DefinitionRef, apply func(*record, DefinitionRef, Stamp)) error {
	if by == "" || !utf8.ValidString(by) {
		return tool.Errorf(op, tool.Invalid, "nobody decided this: an answer carries the name of who gave it")
	}
	if len(refs) == 0 {
		return tool.Errorf(op, tool.Invalid, "no tool is picked").WithHint("name the tools that were shown")
	}
	stamp := Stamp{by, timestamp()}
	return s.update(op, key, func(sv *server) error {
		if sv.isEmpty() {
			return s.unknown(op, key)
		}
		for _, ref := range refs {
			r, err := sv.find(op, ref)
			if err != nil {
				return err
			}
			apply(r, ref, stamp)
		}
		return nil
	})
}

// unknown is the error for a server of which nothing is kept.
func (s *Store) unknown(op, key string) error {
	known, _ := s.Servers() // without them the error says less
	return &tool.Error{Op: op, Kind: tool.NotFound, Similar: known,
		Message: "no MCP server " + visible.Text(tool.Truncate(key)) + " has shown any tools yet",
		Hint:    "connect to it first"}
}

// find returns the record of a definition, if the definition is still kept.
func (sv *server) find(op string, ref DefinitionRef) (*record, error) {
	name := visible.Text(tool.Truncate(ref.Name))
	r := sv.Tools[ref.Name]
	switch {
	case r == nil || r.Waiting == nil && r.Accepted == nil:
		return nil, tool.Errorf(op, tool.NotFound, "the server has no tool %s that could be decided on", name).
			WithHint("look at what waits now")
	case r.definition(ref.Hash).Name == "":
		return nil, tool.Errorf(op, tool.Conflict, "the tool %s has changed again since it was shown", name).
			WithHint("look at it again before answering")
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
