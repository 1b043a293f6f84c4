package scan

import (
	"encoding/binary"
	"regexp"
	"strings"
	"sync"
)

// matcher finds in one pass over a text which phrases are worth trying: those
// whose cues it contains. The first four bytes of each cue are hashed into a
// small bit table, which rules out nearly all places of a text.
type matcher struct {
	phrases  []compiled
	crossing int // the index after the phrases: the cues for other servers' tools
	bits     [cueBits / 64]uint64
	cues     map[uint32][]cue // by their first four bytes
}

// compiled is a phrase whose patterns can be run.
type compiled struct {
	phrase
	match, unless *regexp.Regexp
}

type cue struct {
	text   string
	phrase int
}

const (
	cueBits = 1 << 15
	cueHead = 4 // bytes; no cue is shorter

	maxPhrases = 160 // and the crossing
)

func cueHash(head uint32) uint32 { return head * 2654435761 >> (32 - 15) }

var defaultMatcher = sync.OnceValue(func() *matcher {
	m := &matcher{cues: map[uint32][]cue{}}
	for _, table := range [][]phrase{phraseTable, lureTable, orderTable, foreignTable} {
		for _, p := range table {
			c := compiled{phrase: p, match: regexp.MustCompile(p.match)}
			if p.unless != "" {
				c.unless = regexp.MustCompile(p.unless)
			}
			for _, text := range p.cues {
				m.add(cue{text, len(m.phrases)})
			}
			m.phrases = append(m.phrases, c)
		}
	}
	m.crossing = len(m.phrases)
	for _, text := range crossCues {
		m.add(cue{text, m.crossing})
	}
	return m
})

func (m *matcher) add(c cue) {
	if len(c.text) < cueHead {
		panic("scan: a cue is too short: " + c.text)
	}
	head := binary.LittleEndian.Uint32([]byte(c.text))
	h := cueHash(head)
	m.bits[h/64] |= 1 << (h % 64)
	m.cues[head] = append(m.cues[head], c)
}

// cueHits is, for each phrase, from where to where a text has its cues.
type cueHits [maxPhrases]struct{ from, to int32 }

// find finds the cues in a text, and reports whether there are any.
func (m *matcher) find(s string, found *cueHits) (any bool) {
	if len(s) < cueHead {
		return false
	}
	head := uint32(s[0])<<8 | uint32(s[1])<<16 | uint32(s[2])<<24
	for i := cueHead; i <= len(s); i++ {
		head = head>>8 | uint32(s[i-1])<<24
		if h := cueHash(head); m.bits[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		for _, c := range m.cues[head] {
			if !strings.HasPrefix(s[i-cueHead:], c.text) {
				continue
			}
			if !any {
				any, *found = true, cueHits{}
			}
			if f := &found[c.phrase]; f.to == 0 {
				f.from, f.to = int32(i-cueHead), int32(i)
			} else {
				f.to = int32(i)
			}
		}
	}
	return any
}

// phrases tries the phrases whose cues a text has.
func (s *scanner) phrases(p *piece) {
	m := defaultMatcher()
	if !m.find(p.folded, &s.cued) {
		return
	}
	for i := range m.phrases {
		at, c := s.cued[i], &m.phrases[i]
		if at.to > 0 && (len(c.also) == 0 || containsAny(p.folded, c.also)) {
			s.tryPhrase(c, p, int(at.from), int(at.to))
		}
	}
	if s.cued[m.crossing].to > 0 && len(s.others) > 0 {
		s.crossings(p)
	}
}

// reach is how far from its cues a phrase may begin and end, in bytes.
const reach = 400

// maxEffort bounds how many bytes of one definition are matched against phrases,
// so that no server can keep the scan busy. The worst of the real definitions
// takes a tenth of it.
const maxEffort = 256 << 10

const (
	ruleEffort = "too-much-to-scan"
	whyEffort  = "it is so full of words that call for a closer look that not all of it was looked at"
)

// tryPhrase matches a phrase around its cues, from the start of a line.
func (s *scanner) tryPhrase(c *compiled, p *piece, from, to int) {
	from = strings.LastIndexByte(p.folded[:max(0, from-reach)], '\n') + 1
	to = min(len(p.folded), to+reach)
	if s.effort += to - from; s.effort > maxEffort {
		s.report(ruleEffort, Serious, s.where(p.at), excerpt(p.raw, 0, 40), whyEffort)
		return
	}
	for _, at := range c.match.FindAllStringIndex(p.folded[from:to], 8) {
		at[0], at[1] = at[0]+from, at[1]+from
		if c.unless == nil || !c.unless.MatchString(p.folded[max(0, at[0]-200):at[0]]) {
			severity := c.severity
			if severity == Serious && (s.mentioned(p, at[0]) ||
				c.rule == ruleConceal && excused(p.folded[at[0]:min(len(p.folded), at[1]+60)])) {
				severity = Notice // and perhaps the next one is said
			}
			s.report(c.rule, severity, s.where(p.at), p.excerpt(at[0], at[1]), c.why)
			if severity == c.severity {
				return
			}
		}
	}
}
