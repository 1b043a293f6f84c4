package scan

import (
	"fmt"
	"strings"
	"unicode"

	"callgate/internal/visible"
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

// names scans the tool's name, and compares it with those of other servers.
func (s *scanner) names() {
	ascii := isASCII(s.name)
	if !ascii && mixesScripts(s.name) {
		s.report(ruleScripts, Serious, "name", spell(s.name), whyScripts)
	}
	if ascii && !digitsAmongLetters(s.name) {
		return
	}
	look := undigit(skeleton(s.name))
	for _, other := range s.others {
		if ascii && (len(other) != len(s.name) || strings.EqualFold(other, s.name)) {
			continue
		}
		if undigit(skeleton(other)) == look {
			s.report(ruleAlike, Serious, "name", s.name, whyAlike+visible.Text(tool.Truncate(other)))
			return
		}
	}
}

// mixesScripts reports whether a name has Latin letters and letters of an
// alphabet that looks like Latin. East Asian texts often contain Latin words,
// and do not look like them.
func mixesScripts(name string) bool {
	latin, alike := false, false
	for _, r := range name {
		latin = latin || unicode.Is(unicode.Latin, r)
		alike = alike || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee,
			unicode.Coptic, unicode.Lisu, unicode.Georgian)
	}
	return latin && alike
}

// spell writes a name with the code of each letter that is not ASCII, because
// they look the same.
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

// digitsAmongLetters reports whether a name has a 0 or 1 between letters, where
// it looks like o or l: read_fi1e, l0gin.
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
