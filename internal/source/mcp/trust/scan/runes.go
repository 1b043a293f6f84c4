package scan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/internal/visible"
	"callgate/tool"
)

const (
	ruleTags      = "tag-characters"
	ruleBidi      = "bidi-control"
	ruleMark      = "direction-mark"
	ruleInvisible = "invisible"
	ruleSelectors = "variation-selectors"
	ruleSoft      = "soft-hyphens"
	rulePrivate   = "private-use"
	ruleEscape    = "terminal-escape"
	ruleControl   = "control"
	rulePadding   = "padding"
)

// hiddenRules are the rules on hidden characters: why each is one, and from how
// many characters on, in all and in one run, it is serious. Copying may leave a
// single one behind; several carry something.
var hiddenRules = []struct {
	name, why  string
	count, run int
}{
	{ruleTags, "tag characters spell text that no human sees and a model reads", 1, 1},
	{ruleBidi, "direction controls make a text look different from what it says", 1, 1},
	{ruleEscape, "escape sequences can rewrite what a terminal shows", 1, 1},
	{ruleControl, "control characters have no place in a description", 16, 8},
	{ruleMark, "a direction mark has no work in a text without right-to-left letters", 4, 2},
	{ruleInvisible, "characters that cannot be seen hide text, or break up words so that a search misses them", 1, 1},
	{ruleSelectors, "variation selectors away from any emoji can carry hidden bytes", 4, 2},
	{ruleSoft, "soft hyphens break up words where no human sees it", 12, 2},
	{rulePrivate, "private-use characters mean nothing agreed, and can carry hidden text", 32, 8},
}

const whyPadding = "a long blank stretch pushes what follows out of sight"

// runes scans for characters that a human does not see.
func (s *scanner) runes(p *piece) {
	if !plainText(p.raw) {
		s.hidden(p)
		if word := mixedWord(p.raw); word != "" && s.where(p.at) != "name" {
			s.report(ruleScripts, Serious, s.where(p.at), spell(word), whyMixed)
		}
	}
	if len(p.raw) > 80 {
		s.padding(p)
	}
}

const whyMixed = "a word mixes alphabets whose letters look alike, so that it is not what it seems to be"

// mixedWord returns the first word that has Latin letters and Cyrillic, Greek or
// Armenian ones that look like them. A single Greek letter is a sign: μs, αx.
func mixedWord(s string) string {
	from, latin, alike, greek := 0, 0, 0, false
	for i, r := range s + " " {
		if unicode.IsLetter(r) {
			switch {
			case r < utf8.RuneSelf:
				latin++
			case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian) && lookAlikes[unicode.ToLower(r)] != 0:
				alike++
				greek = greek || unicode.Is(unicode.Greek, r)
			}
			continue
		}
		if latin > 0 && alike > 0 && latin+alike > 3 && (!greek || alike > 1 || latin > 3) {
			return s[from:i]
		}
		from, latin, alike, greek = i+utf8.RuneLen(r), 0, 0, false
	}
	return ""
}

// plainText reports whether a text has only printable ASCII, line ends and tabs.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// tally counts the characters of one rule in a text.
type tally struct {
	first, count, run int
}

func (s *scanner) hidden(p *piece) {
	runes := []rune(p.raw)
	tallies := map[string]tally{}
	last, run := "", 0
	for i := range runes {
		rule := hiddenRule(runes, i)
		if run++; rule != last {
			last, run = rule, 1
		}
		if rule == "" {
			continue
		}
		t, seen := tallies[rule]
		if !seen {
			t.first = i
		}
		t.count++
		t.run = max(t.run, run)
		if (rule == ruleInvisible || rule == ruleMark || rule == ruleSelectors) && insideWord(runes, i) {
			t.run = max(t.run, 2) // inside a word it can only break the word
		}
		tallies[rule] = t
	}
	for _, rule := range hiddenRules {
		t, ok := tallies[rule.name]
		if !ok {
			continue
		}
		severity := Notice
		if t.count >= rule.count || t.run >= rule.run || p.key || s.where(p.at) == "name" {
			severity = Serious
		}
		s.report(rule.name, severity, s.where(p.at), string(runes[max(0, t.first-20):min(len(runes), t.first+40)]), rule.why)
	}
}

// hiddenRule returns the rule for a rune, or "". It depends on the runes around
// it.
func hiddenRule(runes []rune, i int) string {
	r := runes[i]
	if r < 0xa0 {
		return controlRule(runes, i)
	}
	switch {
	case visible.InEmoji(runes, i):
		return ""
	case visible.IsTag(r):
		return ruleTags
	case 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069:
		return ruleBidi
	case r == 0x200E || r == 0x200F || r == 0x061C:
		if near(runes, i, rightToLeft...) {
			return ""
		}
		return ruleMark
	case 0x200B <= r && r <= 0x200D && i > 0 && unicode.In(runes[i-1], joining...):
		return ""
	case r == 0xFEFF && i == 0:
		return "" // the byte-order mark of a file
	case visible.IsVariation(r):
		if i > 0 && unicode.In(runes[i-1], unicode.Han, unicode.Mongolian) {
			return ""
		}
		return ruleSelectors
	case r == 0xAD:
		return ruleSoft
	case unicode.Is(unicode.Co, r):
		return rulePrivate
	case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Arabic, r), visible.IsFiller(r) && r != 0x2800,
		r == 0x2028, r == 0x2029:
		return ruleInvisible
	}
	return ""
}

// controlRule returns the rule for a control character, or "".
func controlRule(runes []rune, i int) string {
	switch r := runes[i]; {
	case r == '\n' || r == '\t' || r == 0x85 || !unicode.IsControl(r):
		return ""
	case r == '\r' && (i+1 == len(runes) || runes[i+1] == '\n' || runes[i+1] == '\r'):
		return ""
	case r == 0x1b || r == 0x90 || r == 0x9b || r == 0x9d:
		return ruleEscape
	}
	return ruleControl
}

var (
	rightToLeft = []*unicode.RangeTable{unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana}
	// joining are the scripts that need joiners and zero-width spaces between
	// letters.
	joining = []*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar, unicode.Thai, unicode.Lao, unicode.Tibetan, unicode.Mongolian,
	}
)

// near reports whether a letter of one of the scripts is within a few runes.
func near(runes []rune, i int, scripts ...*unicode.RangeTable) bool {
	for _, r := range runes[max(0, i-12):min(len(runes), i+12)] {
		if r > 0x2ff && unicode.In(r, scripts...) {
			return true
		}
	}
	return false
}

// insideWord reports whether a rune has Latin letters on both sides.
func insideWord(runes []rune, i int) bool {
	return i > 0 && i+1 < len(runes) && unicode.Is(unicode.Latin, runes[i-1]) && unicode.Is(unicode.Latin, runes[i+1])
}

// padding scans for more blanks than any layout needs: real descriptions have a
// handful of empty lines at most, and indent by 60 columns at most.
func (s *scanner) padding(p *piece) {
	const maxLines, maxBlanks = 15, 150
	text := strings.TrimSpace(p.raw)
	from, lines := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			lines++
		case c > ' ':
			if lines >= maxLines || i-from >= maxBlanks {
				s.report(rulePadding, Serious, s.where(p.at), tool.Truncate(text[i:]), whyPadding)
				return
			}
			from, lines = i+1, 0
		}
	}
}
