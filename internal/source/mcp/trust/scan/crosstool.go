package scan

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/internal/visible"
)

const (
	ruleShadow = "shadows-other-tool"
	ruleRefers = "refers-to-other-tool"
)

const (
	whyShadow = "it tells the model when to avoid, replace or treat otherwise the tool of another server: "
	whyRefers = "it tells the model to use the tool of another server: "
)

// crossCues are words of which every text has one that says how another tool is
// to be used.
var crossCues = []string{
	"instead", "rather", "in place", "avoid", "overrid", "replace", "supersede", "precedence", "priority", "prefer",
	"when", "time", "before", "after", "while", "deprecated", "broken", "insecure", "unsafe", "disable", "outdated",
	"unreliable", "compromised", "obsolete", "vulnerable",
	"never", "not use", "n't use", "not call", "n't call", "not invoke", "stop ", "use ", "using", "call", "invok",
	"execut", "should", "must", "alias", "known as", "acts as", "act as", "tool is", "this is", "version", "substitute",
	"successor",
}

// toolMark stands for the name of a tool in the patterns below.
const toolMark = "\x01"

// crossToolRule is the patterns of sentences about a tool, with the mark in place
// of its name.
type crossToolRule struct{ shadow, use *regexp.Regexp }

var compileCrossing = sync.OnceValue(func() crossToolRule {
	const name = `(?:the\s+|any\s+|original\s+|default\s+|existing\s+|built-?in\s+|standard\s+|old\s+|` +
		`other\s+)*["'\x60(\[<]*` + toolMark
	return crossToolRule{
		shadow: regexp.MustCompile(strings.Join([]string{
			`(?:instead\s+of|rather\s+than|in\s+place\s+of|priority\s+over|precedence\s+over|prefer(?:red)?\s+(?:(?:this|` +
				`it)\s+)?(?:tool\s+)?(?:over|to))\s+(?:using\s+|calling\s+|invoking\s+)?` + name,
			`(?:do\s+not|don'?t|never|must\s+not|should\s+not|stop|avoid|no\s+longer)\s+(?:ever\s+)?(?:use|using|call|` +
				`calling|invoke|invoking|trust|rely\s+on|run)\s+` + name,
			`\b(?:overrides?|replaces?|supersedes?|shadows?|disables?)\s+` + name,
			`\b(?:when(?:ever)?|each\s+time|every\s+time|any\s*time|if|before|after|while)\s+(?:\S+\s+){0,4}?["'\x60(\[]*` +
				toolMark +
				`["'\x60)\]]*\s+(?:\S+\s+){0,2}?(?:is|are|gets?|was)\s+(?:being\s+)?(?:called|used|invoked|run|executed|` +
				`requested)`,
			toolMark +
				`["'\x60)\]]*\s+(?:\S+\s+){0,2}?(?:is|are)\s+(?:now\s+)?(?:deprecated|broken|insecure|unsafe|disabled|outdated|` +
				`unreliable|compromised|obsolete|vulnerable)`,
			toolMark +
				`["'\x60)\]]*\s+(?:\S+\s+){0,2}?(?:must|should)\s+(?:always\s+|also\s+|only\s+|not\s+|never\s+)?(?:send|` +
				`be\s+sent|forward|include|use|be\s+used|be\s+called|call)\b`,
			`\b(?:this\s+(?:tool\s+)?is|known\s+as|acts?\s+as|alias\s+(?:of|for)|version\s+of|replacement\s+for|` +
				`substitute\s+for|successor\s+(?:of|to))\s+(?:(?:the|a|real|official|new|updated|correct|only|secure|safe|` +
				`improved)\s+)*["'\x60(\[<]*` + toolMark,
		}, "|")),
		use: regexp.MustCompile(`\b(?:use|call|invoke|run|execute|calling|using|invoking)\s+` + name),
	}
})

// crossings scans for what a text says about tools of other servers. A name
// counts when it cannot be a common word: it has several parts, or the text
// calls it a tool.
func (s *scanner) crossings(p *piece) {
	for from := 0; from < len(p.folded); {
		end := sentenceEnd(p.folded, from)
		s.sentence(p, from, end)
		from = end
	}
}

func containsAny(s string, cues []string) bool {
	return slices.ContainsFunc(cues, func(cue string) bool { return strings.Contains(s, cue) })
}

// sentenceEnd finds the end of a sentence: the end of a line, or a full stop and
// a blank.
func sentenceEnd(s string, from int) int {
	for i := from; i < len(s); i++ {
		if s[i] == '\n' || (s[i] == '.' || s[i] == '!' || s[i] == '?') && i+1 < len(s) && s[i+1] == ' ' {
			return i + 1
		}
	}
	return len(s)
}

// sentence scans one sentence for names.
func (s *scanner) sentence(p *piece, from, end int) {
	text := p.folded[from:end]
	for at := 0; at < len(text); {
		if !nameByte(text[at]) {
			at++
			continue
		}
		stop := at
		for stop < len(text) && nameByte(text[stop]) {
			stop++
		}
		word := strings.TrimRight(text[at:stop], ".-")
		distinct := p.isDistinct(from+at, word)
		if (distinct || namedAsTool(text, at+len(word))) && isInstruction(text, at, stop) {
			if name := s.foreign(word); name != "" {
				s.mentions(p, from, text[:at]+toolMark+text[at+len(word):], name, distinct)
			}
		}
		at = stop
	}
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c >= 0x80
}

// isInstruction reports whether the words around a name may say how to use it.
func isInstruction(text string, from, to int) bool {
	before, after := text[max(0, from-60):from], text[to:min(len(text), to+50)]
	return containsAny(before, crossCues) ||
		containsAny(after, []string{" is ", " are ", " must", " should", " get", " was "})
}

// isDistinct reports whether a word can only be a name.
func (p *piece) isDistinct(at int, word string) bool {
	last := word[strings.LastIndexByte(word, '.')+1:]
	return len(last) >= 4 && (strings.IndexByte(last, '_') > 0 || strings.Count(last, "-") > 1 ||
		len(p.folded) == len(p.raw) && isCamel(p.raw[at:at+len(word)]))
}

// foreign returns the tool of another server that a word names, alone or after
// the server's name.
func (s *scanner) foreign(word string) string {
	if len(word) < 4 {
		return ""
	}
	last := word[strings.LastIndexByte(word, '.')+1:]
	for _, other := range s.others {
		if len(other) == len(word) && strings.EqualFold(other, word) ||
			len(other) == len(last) && strings.EqualFold(other, last) {
			return other
		}
	}
	return ""
}

// isCamel reports whether a name is like getUser. A name that begins with a
// capital may be a product's.
func isCamel(s string) bool {
	if s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.ContainsFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// namedAsTool reports whether the text calls the word before a place a tool.
func namedAsTool(text string, to int) bool {
	after := strings.TrimLeft(text[to:], "\"'` \n")
	return strings.HasPrefix(after, "tool") || strings.HasPrefix(after, "function") || strings.HasPrefix(after, "()")
}

// mentions reports what a sentence says about a tool.
func (s *scanner) mentions(p *piece, from int, marked, name string, distinct bool) {
	c := compileCrossing()
	if c.shadow.MatchString(marked) {
		severity := Notice
		if distinct {
			severity = Serious // a word that is not distinct may be a common word
		}
		s.report(ruleShadow, severity, s.where(p.at), p.excerpt(from, from+len(marked)), whyShadow+visible.Text(name))
		return
	}
	if c.use.MatchString(marked) {
		s.report(ruleRefers, Notice, s.where(p.at), p.excerpt(from, from+len(marked)), whyRefers+visible.Text(name))
	}
}
