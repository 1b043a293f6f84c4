// Package learned keeps which requests led to which tools: who searched in certain
// words and then called, with success, a tool that the search had shown, is shown
// that tool sooner the next time.
//
// # Law
//
//   - Only the words of who searched are kept, and only after a call of a shown tool
//     went well: no description and no result of a tool teaches anything, nor does a
//     call that was refused or failed.
//   - What one owner taught is given to that owner alone. The user of the kernel is
//     one owner, and so is the holder of each token.
//   - A request in which a known secret is found is not kept. One that was kept
//     before the secret was known is left out when it is read again.
//   - It is bounded: so many requests for a tool, so many in all. What was seen long
//     ago and seldom goes first, and of the owner who has most.
//   - It goes with what it was learned from: with its conversation, and with the
//     records of the journal from before a time.
//   - A call never waits for it. It is written a little later, and a crash in between
//     costs what was learned in the last seconds.
package learned

import (
	"math"
	"strings"
	"time"
	"unicode"

	"callgate/internal/visible"
)

// The bounds.
const (
	MaxTool    = 8    // requests that are kept for a tool
	MaxAll     = 5000 // requests that are kept in all
	MaxRequest = 300  // runes of a request; the rest is cut off

	// Soon is how long after a search a call counts as its consequence.
	Soon = 10 * time.Minute

	maxFrom    = 4  // sessions that are named as those in which a request was seen
	maxShown   = 20 // tools of one answer that count as shown
	maxPending = 8  // searches of one asker that may still teach
	maxTaught  = 3  // tools that one search teaches
)

// Pair is a request and the tool that it led to.
type Pair struct {
	Tool    string    `json:"tool"` // its dotted name
	Request string    `json:"request"`
	Seen    int       `json:"seen"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	From    []Source  `json:"from,omitempty"` // the newest last
}

// Source is where a pair was seen.
type Source struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
}

// worth orders pairs: the greater is kept longer. A request that was seen twice as
// often counts as seen a week later.
func (p Pair) worth() time.Time {
	const week = 7 * 24 * time.Hour
	return p.Last.Add(time.Duration(float64(week) * math.Log2(float64(max(p.Seen, 1)))))
}

// without returns the pair without the sources that gone names, and whether one is left.
func (p Pair) without(gone func(Source) bool) (Pair, bool) {
	var left []Source
	for _, s := range p.From {
		if !gone(s) {
			left = append(left, s)
		}
	}
	p.Seen = max(p.Seen-(len(p.From)-len(left)), len(left))
	p.From = left
	return p, len(left) > 0
}

// Clean returns a request as it is kept: in one line, without invisible characters,
// and cut. It reports false for what is no request: it has no words, or too few
// letters to mean anything.
func Clean(request string) (string, bool) {
	var b strings.Builder
	runes, letters, space := 0, 0, false
	for _, r := range strings.ToValidUTF8(request, " ") {
		if unicode.IsSpace(r) || visible.Hidden(r) {
			space = space || !unicode.Is(unicode.Cf, r) // a joiner divides no word
			continue
		}
		if space && runes > 0 {
			if runes+1 >= MaxRequest {
				break
			}
			b.WriteByte(' ')
			runes++
		}
		space = false
		if runes == MaxRequest {
			break
		}
		if unicode.IsLetter(r) {
			letters++
		}
		b.WriteRune(r)
		runes++
	}
	return b.String(), letters >= 2
}

// Fold returns a request for comparing: two requests that differ in case, in spaces or in
// the marks at their end are one.
func Fold(request string) string {
	text, _ := Clean(request)
	return strings.TrimRight(strings.ToLower(text), " .!?。！？…")
}
