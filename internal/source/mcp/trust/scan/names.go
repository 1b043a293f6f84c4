package scan

import (
	"fmt"
	"strings"
	"unicode"

	"callgate/internal/source/mcp/trust/visible"
	"callgate/tool"
)

const (
	ruleScripts = "mixed-scripts"
	ruleAlike   = "look-alike-name"
)

const (
	whyScripts = "the name mixes alphabets whose letters look alike, so it can pass for another"
	whyAlike   = "the name cannot be told by eye from that of another server's tool: "
)

// names looks at the tool's own name, beside those of other servers.
func (s *scanner) names() {
	ascii := isASCII(s.name)
	if !ascii && mixesScripts(s.name) {
		s.report(ruleScripts, Serious, "name", spell(s.name), whyScripts)
	}
	if ascii && !digitsAmongLetters(s.name) {
		return
	}
	eye := undigit(skeleton(s.name))
	for _, other := range s.others {
		if (!ascii || len(other) == len(s.name)) && undigit(skeleton(other)) == eye && !(ascii && strings.EqualFold(other, s.name)) {
			s.report(ruleAlike, Serious, "name", s.name, whyAlike+visible.Text(tool.Truncate(other)))
			return
		}
	}
}

// mixesScripts reports letters of Latin together with those of an alphabet
// that looks like it. East Asian scripts are written with Latin words among
// them, and do not.
func mixesScripts(name string) bool {
	latin, alike := false, false
	for _, r := range name {
		latin = latin || unicode.Is(unicode.Latin, r)
		alike = alike || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Georgian)
	}
	return latin && alike
}

// spell writes a name with the number of each letter that is not ASCII, since
// the eye cannot tell them.
func spell(name string) string {
	var b strings.Builder
	for _, r := range name {
		b.WriteRune(r)
		if r >= 0x80 {
			fmt.Fprintf(&b, "(U+%04X)", r)
		}
	}
	return b.String()
}

// digitsAmongLetters reports a nought or a one between letters, where it may
// pass for o or l: read_fi1e, l0gin.
func digitsAmongLetters(name string) bool {
	letter := func(i int) bool { return 'a' <= name[i]|0x20 && name[i]|0x20 <= 'z' }
	for i := 1; i+1 < len(name); i++ {
		if (name[i] == '0' || name[i] == '1') && letter(i-1) && letter(i+1) {
			return true
		}
	}
	return false
}

func undigit(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "0", "o"), "1", "l")
}
