package trust

import (
	"slices"
	"time"

	"callgate/internal/source/mcp/trust/scan"
	"callgate/internal/source/mcp/trust/visible"
	"callgate/tool"
)

// Reason is why a definition is held back.
type Reason string

// The reasons.
const (
	Changed    Reason = "changed"    // another definition was accepted under this name
	New        Reason = "new"        // its server was known, and did not have it
	Suspicious Reason = "suspicious" // the scan found something serious, and no human has accepted it
	Unpinned   Reason = "unpinned"   // a human must accept it first: the app says so, or one took it back
)

// Options are what Review cannot know by itself. The zero value is first use
// trusted, and no other servers.
type Options struct {
	// Strict holds everything that no human has accepted, also what first use
	// pinned. It is of this review alone: the book is kept as without it, so that
	// one who is strict holds nothing back from others.
	Strict bool
	// Others are the names of the tools of all other servers: see [Scan].
	// Names that the reviewed server has itself are left out by Review.
	Others []string
}

// ReviewResult says what of a server's definitions may be shown to models.
type ReviewResult struct {
	Published []Definition // in the order they came
	Held      []Held       // in the order they came
	Removed   []string     // accepted once and not there now, sorted; their pins are kept
}

// Held is a definition that waits for a human.
type Held struct {
	Definition Definition  `json:"definition"`
	Reason     Reason      `json:"reason"`
	Before     *Definition `json:"before,omitempty"` // the one that is accepted under this name
	Findings   []Finding   `json:"findings,omitempty"`
	Rejected   *Stamp      `json:"rejected,omitempty"` // a human has seen this very definition and said no
}

// Ref names exactly what a human was shown.
func (h Held) Ref() DefinitionRef { return DefinitionRef{h.Definition.Name, h.Definition.Hash()} }

// maxServer is how much one server may bring, in bytes of definitions.
const maxServer = 8 << 20

// Review judges all the definitions that a server brings now, and keeps what
// the next review and a human must know:
//
//   - Definitions of a server that showed none before are pinned and published
//     (trust on first use), except those in which the scan finds something
//     serious. With Options.Strict they are pinned and held.
//   - Later, what is as it was accepted is published; what differs and what is
//     new is held until a human accepts it. What is missing keeps its pin, so
//     that coming back changed is noticed.
//   - A pin that first use made is only as good as the scan, which could not
//     know the names of servers that came later. So it is scanned again each
//     time, and what becomes suspicious stays held. What a human accepted is
//     not questioned again.
//   - A definition that two readers could read in two ways, or that shares its
//     name with another of the list, is held, and cannot be accepted: its
//     server must mend it.
//
// With an error everything is held, so that nothing is published by mistake.
func (s *Store) Review(key string, now []Definition, o Options) (ReviewResult, error) {
	const op = "trust.Review"
	c, err := examine(op, key, now, o)
	if err == nil {
		err = s.update(op, func(b pinFile) error {
			c.judge(b)
			return nil
		})
	}
	if err != nil {
		var v ReviewResult
		for _, d := range now {
			v.Held = append(v.Held, Held{Definition: d, Reason: Unpinned})
		}
		return v, err
	}
	return c.verdict, nil
}

// candidate is a definition with what can be said of it alone.
type candidate struct {
	Definition
	hash     Hash
	findings []Finding
	serious  bool
	unfit    bool
}

// reviewer is one review.
type reviewer struct {
	key        string
	strict     bool
	candidates []candidate
	names      map[string]int // how often each name stands in the list
	verdict    ReviewResult
	at         time.Time
}

// examine does what needs no lock: hashing and scanning.
func examine(op, key string, now []Definition, o Options) (*reviewer, error) {
	if err := checkKey(op, key); err != nil {
		return nil, err
	}
	c := &reviewer{key: key, strict: o.Strict, names: make(map[string]int, len(now)), at: timestamp()}
	size := 0
	for _, d := range now {
		c.names[d.Name]++
		size += d.Size()
	}
	if size > maxServer {
		return nil, tool.Errorf(op, tool.Limited, "%q brings %d MiB of tool definitions, more than the %d MiB that are kept", visible.Text(tool.Truncate(key)), size>>20, maxServer>>20).
			WithHint("ask for fewer of its tools, or leave it out")
	}
	others := slices.DeleteFunc(slices.Clone(o.Others), func(name string) bool { return c.names[name] > 0 })
	for _, d := range now {
		one := candidate{Definition: d, hash: d.Hash(), findings: Scan(d, others)}
		if c.names[d.Name] > 1 {
			one.findings = append([]Finding{{Rule: scan.Malformed, Severity: Serious, Where: "name", Excerpt: visible.Text(tool.Truncate(d.Name)), Why: duplicateReason}}, one.findings...)
		}
		for _, f := range one.findings {
			one.serious = one.serious || f.Severity == Serious
			one.unfit = one.unfit || f.Rule == scan.Malformed
		}
		c.candidates = append(c.candidates, one)
	}
	return c, nil
}

const duplicateReason = "two tools of one server have this name, and a call could reach either"

// judge goes through the candidates, and notes in the book what came of each.
func (c *reviewer) judge(b pinFile) {
	sv := b[c.key]
	if sv == nil && len(c.candidates) == 0 {
		return // nothing shown yet: the first sight is still to come
	}
	if sv == nil {
		sv = &server{}
		b[c.key] = sv
	}
	first := sv.Seen.IsZero() && len(c.candidates) > 0
	if first {
		sv.Seen = c.at
	}
	if sv.Tools == nil {
		sv.Tools = map[string]*record{}
	}
	for _, one := range c.candidates {
		r := sv.Tools[one.Name]
		if r == nil {
			r = &record{}
		}
		c.decideOne(r, one, first)
		if one.Name != "" && !r.empty() {
			sv.Tools[one.Name] = r
		}
	}
	for name, r := range sv.Tools {
		c.missing(sv, name, r)
	}
	slices.Sort(c.verdict.Removed)
}

// decideOne publishes or holds a candidate.
func (c *reviewer) decideOne(r *record, one candidate, first bool) {
	r.Gone = time.Time{}
	reason := c.reason(r, one, first)
	if reason == "" {
		if r.Accepted == nil {
			r.Accepted = &Pin{Definition: one.Definition, Hash: one.hash, FirstUse: true, Stamp: Stamp{At: c.at}}
		}
		r.Waiting = nil
		if c.strict && r.Accepted.FirstUse {
			c.verdict.Held = append(c.verdict.Held, r.held(one.Definition, one.hash, Unpinned, one.findings))
			return
		}
		c.verdict.Published = append(c.verdict.Published, one.Definition)
		return
	}
	switch {
	case one.unfit:
		r.Waiting = nil // it cannot be accepted, so it does not wait
	case r.Waiting == nil || r.Waiting.Hash != one.hash:
		r.Waiting = &waiting{one.Definition, one.hash, reason, one.findings, c.at}
	default:
		r.Waiting.Reason, r.Waiting.Findings = reason, one.findings
	}
	c.verdict.Held = append(c.verdict.Held, r.held(one.Definition, one.hash, reason, one.findings))
}

// reason says why a candidate is held; "" publishes it.
func (c *reviewer) reason(r *record, one candidate, first bool) Reason {
	again := r.Waiting != nil && r.Waiting.Hash == one.hash
	switch a := r.Accepted; {
	case a != nil && a.Hash != one.hash:
		return Changed
	case one.unfit:
		return Suspicious
	case a != nil && !a.FirstUse:
		return ""
	case one.serious || again && r.Waiting.Reason == Suspicious:
		return Suspicious
	case a != nil || first:
		return ""
	case again:
		return r.Waiting.Reason
	}
	return New
}

// missing notes a tool that the server does not have any more. Only what a
// human decided, or what first use pinned, is kept of it.
func (c *reviewer) missing(sv *server, name string, r *record) {
	if c.names[name] > 0 {
		return
	}
	r.Waiting = nil
	if r.Accepted != nil {
		c.verdict.Removed = append(c.verdict.Removed, name)
		if r.Gone.IsZero() {
			r.Gone = c.at
		}
	}
	if r.empty() {
		delete(sv.Tools, name)
	}
}

func (r *record) empty() bool {
	return r.Accepted == nil && r.Waiting == nil && len(r.Rejected) == 0
}

// held shows what is held beside what was accepted before it.
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

// timestamp is now, as the file writes it.
func timestamp() time.Time { return time.Now().UTC().Truncate(time.Second) }
