package trust

import (
	"slices"
	"time"

	"callgate/internal/source/mcp/trust/scan"
	"callgate/internal/visible"
	"callgate/tool"
)

// Reason is why a definition is held back.
type Reason string

// The reasons.
const (
	Changed    Reason = "changed"    // another definition was accepted under this name
	New        Reason = "new"        // its server was known, and did not list it
	Suspicious Reason = "suspicious" // the scan found something serious, and no human has accepted it
	Unpinned   Reason = "unpinned"   // a human must accept it first: the app says so, or a human rejected it
)

// Options are the options of a review. With the zero value first use is trusted
// and there are no other servers.
type Options struct {
	// Strict holds everything that no human has accepted, also what first use
	// pinned. It affects only the result of this review, not what is kept: a
	// strict app holds nothing back from others.
	Strict bool
	// Growing publishes what is new, if the scan finds nothing serious in it: for
	// lists that grow by themselves, as those of resources do.
	Growing bool
	// Others are the names of the tools of all other servers: see [Scan].
	// Names that the reviewed server has itself are left out by Review.
	Others []string
}

// ReviewResult says which of a server's definitions models may be shown.
type ReviewResult struct {
	Published []Definition // in the server's order
	Held      []Held       // in the server's order
	Removed   []string     // accepted, and not listed now, sorted; their pins are kept
}

// Held is a definition that waits for a human.
type Held struct {
	Definition Definition  `json:"definition"`
	Reason     Reason      `json:"reason"`
	Before     *Definition `json:"before,omitempty"` // the definition that is accepted under this name
	Findings   []Finding   `json:"findings,omitempty"`
	Rejected   *Stamp      `json:"rejected,omitempty"` // a human has rejected this very definition
}

// Ref names exactly the definition that a human was shown.
func (h Held) Ref() DefinitionRef { return DefinitionRef{h.Definition.Name, h.Definition.Hash()} }

// maxServer bounds the definitions of one server, in bytes.
const maxServer = 8 << 20

// Review reviews all the definitions that a server lists now, and keeps what the
// next review and a human must know:
//
//   - Definitions of a server that listed none before are pinned and published
//     (trust on first use), except those in which the scan finds something
//     serious. With Options.Strict they are pinned and held.
//   - Later, a definition is published while it is as it was accepted; one that
//     differs or is new is held until a human accepts it. One that is missing
//     keeps its pin, so that it is noticed when it comes back changed.
//   - A pin that first use made is only as good as the scan, which could not
//     know the names of servers that came later. So it is scanned again each
//     time, and a definition that becomes suspicious stays held. What a human
//     accepted is not questioned again.
//   - A definition that two programs could read differently, or that shares its
//     name with another of the list, is held and cannot be accepted: its server
//     must correct it.
//
// After an error everything is held, so that nothing is published by mistake.
func (s *Store) Review(key string, now []Definition, o Options) (ReviewResult, error) {
	const op = "trust.Review"
	r, err := examine(op, key, now, o)
	if err == nil {
		err = s.update(op, key, func(sv *server) error {
			r.decide(sv)
			return nil
		})
	}
	if err != nil {
		var held ReviewResult
		for _, d := range now {
			held.Held = append(held.Held, Held{Definition: d, Reason: Unpinned})
		}
		return held, err
	}
	return r.result, nil
}

// candidate is a definition and what the scan finds in it.
type candidate struct {
	Definition
	hash      Hash
	findings  []Finding
	serious   bool // one of the findings is
	malformed bool // it cannot be accepted
}

// reviewer is one review.
type reviewer struct {
	strict     bool
	growing    bool
	candidates []candidate
	names      map[string]int // how often each name is in the list
	result     ReviewResult
	at         time.Time
}

// examine does what needs no documents: hashing and scanning.
func examine(op, key string, now []Definition, o Options) (*reviewer, error) {
	if err := checkKey(op, key); err != nil {
		return nil, err
	}
	r := &reviewer{strict: o.Strict, growing: o.Growing, names: make(map[string]int, len(now)), at: timestamp()}
	size := 0
	for _, d := range now {
		r.names[d.Name]++
		size += d.Size()
	}
	if size > maxServer {
		return nil, tool.Errorf(op, tool.Limited, "%q brings %d MiB of tool definitions, more than the %d MiB that are kept",
			visible.Text(tool.Truncate(key)), size>>20, maxServer>>20).WithHint("ask for fewer of its tools, or leave it out")
	}
	others := slices.DeleteFunc(slices.Clone(o.Others), func(name string) bool { return r.names[name] > 0 })
	for _, d := range now {
		c := candidate{Definition: d, hash: d.Hash(), findings: Scan(d, others)}
		if r.names[d.Name] > 1 {
			c.findings = slices.Insert(c.findings, 0, Finding{Rule: scan.Malformed, Severity: Serious,
				Where: "name", Excerpt: visible.Text(tool.Truncate(d.Name)), Why: duplicateReason})
		}
		for _, f := range c.findings {
			c.serious = c.serious || f.Severity == Serious
			c.malformed = c.malformed || f.Rule == scan.Malformed
		}
		r.candidates = append(r.candidates, c)
	}
	return r, nil
}

const duplicateReason = "two tools of one server have this name, and a call could reach either"

// decide decides on each candidate, and records the decisions.
func (r *reviewer) decide(sv *server) {
	r.result = ReviewResult{} // it may be the second attempt
	first := sv.Seen.IsZero() && len(r.candidates) > 0
	if first {
		sv.Seen = r.at
	}
	for _, c := range r.candidates {
		known := sv.Tools[c.Name]
		if known == nil {
			known = &record{}
		}
		r.decideOne(known, c, first || r.growing)
		if c.Name != "" && !known.empty() {
			sv.Tools[c.Name] = known
		}
	}
	for name, known := range sv.Tools {
		r.missing(sv, name, known)
	}
	slices.Sort(r.result.Removed)
}

// decideOne publishes or holds a candidate.
func (r *reviewer) decideOne(known *record, c candidate, first bool) {
	known.Gone = time.Time{}
	reason := known.reason(c, first)
	if reason == "" {
		if known.Accepted == nil {
			known.Accepted = &Pin{Definition: c.Definition, Hash: c.hash, FirstUse: true, Stamp: Stamp{At: r.at}}
		}
		known.Waiting = nil
		if r.strict && known.Accepted.FirstUse {
			r.result.Held = append(r.result.Held, known.held(c.Definition, c.hash, Unpinned, c.findings))
			return
		}
		r.result.Published = append(r.result.Published, c.Definition)
		return
	}
	switch {
	case c.malformed:
		known.Waiting = nil // it cannot be accepted, so it does not wait
	case known.Waiting == nil || known.Waiting.Hash != c.hash:
		known.Waiting = &waiting{c.Definition, c.hash, reason, c.findings, r.at}
	default:
		known.Waiting.Reason, known.Waiting.Findings = reason, c.findings
	}
	r.result.Held = append(r.result.Held, known.held(c.Definition, c.hash, reason, c.findings))
}

// reason says why a candidate is held; "" publishes it.
func (r *record) reason(c candidate, first bool) Reason {
	again := r.Waiting != nil && r.Waiting.Hash == c.hash
	switch a := r.Accepted; {
	case a != nil && a.Hash != c.hash:
		return Changed
	case c.malformed:
		return Suspicious
	case a != nil && !a.FirstUse:
		return ""
	case c.serious || again && r.Waiting.Reason == Suspicious:
		return Suspicious
	case a != nil || first:
		return ""
	case again:
		return r.Waiting.Reason
	}
	return New
}

// missing records that the server no longer lists a tool. Only what a human
// decided, or what first use pinned, is kept of it.
func (r *reviewer) missing(sv *server, name string, known *record) {
	if r.names[name] > 0 {
		return
	}
	known.Waiting = nil
	if known.Accepted != nil {
		r.result.Removed = append(r.result.Removed, name)
		if known.Gone.IsZero() {
			known.Gone = r.at
		}
	}
	if known.empty() {
		delete(sv.Tools, name)
	}
}

func (r *record) empty() bool {
	return r.Accepted == nil && r.Waiting == nil && len(r.Rejected) == 0
}

// held returns a held definition with the one that was accepted before it.
func (r *record) held(d Definition, h Hash, reason Reason, findings []Finding) Held {
	out := Held{Definition: d, Reason: reason, Findings: findings}
	if r.Accepted != nil && r.Accepted.Hash != h {
		before := r.Accepted.Definition
		out.Before = &before
	}
	for _, no := range r.Rejected {
		if no.Hash == h {
			stamp := no.Stamp
			out.Rejected = &stamp
		}
	}
	return out
}

// timestamp is the time now, as precise as it is kept.
func timestamp() time.Time { return time.Now().UTC().Truncate(time.Second) }
