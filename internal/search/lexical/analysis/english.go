package analysis

// This file is the English stemmer Porter2: it removes endings in five steps, each
// only if enough of the word is left. It is our own because the index stems every
// distinct word and every query, and must not allocate for it.

// ending is a suffix and its replacement.
type ending struct{ from, to string }

// Of two endings that both fit, the longer comes first.
var (
	endings2 = []ending{
		{"ization", "ize"}, {"ational", "ate"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"},
		{"tional", "tion"}, {"biliti", "ble"}, {"lessli", "less"},
		{"entli", "ent"}, {"ation", "ate"}, {"alism", "al"}, {"aliti", "al"}, {"ousli", "ous"}, {"iviti", "ive"},
		{"fulli", "ful"},
		{"enci", "ence"}, {"anci", "ance"}, {"abli", "able"}, {"izer", "ize"}, {"ator", "ate"}, {"alli", "al"},
		{"bli", "ble"}, {"ogi", "og"}, {"li", ""},
	}
	endings3 = []ending{
		{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"}, {"iciti", "ic"}, {"ative", ""},
		{"ical", "ic"}, {"ness", ""}, {"ful", ""},
	}
	endings4 = []ending{
		{"ement", ""}, {"ance", ""}, {"ence", ""}, {"able", ""}, {"ible", ""}, {"ment", ""},
		{"ant", ""}, {"ent", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}, {"ion", ""},
		{"al", ""}, {"er", ""}, {"ic", ""},
	}
)

// porter is the state of one word. The regions r1 and r2 begin after the first, and
// after the next, consonant that follows a vowel.
type porter struct {
	buf    [MaxToken + 1]byte
	n      int
	r1, r2 int
}

// stemEnglish returns the stem of a word in lower-case ASCII.
func stemEnglish(word string) string {
	if len(word) < 3 || len(word) > MaxToken {
		return word
	}
	if to, ok := irregular(word); ok {
		return to
	}
	var p porter
	p.n = copy(p.buf[:], word)
	p.mark()
	p.step1a()
	switch string(p.buf[:p.n]) {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return p.result(word)
	}
	p.step1b()
	p.step1c()
	p.step2()
	p.step3()
	p.step4()
	p.step5()
	return p.result(word)
}

func irregular(word string) (string, bool) {
	switch word {
	case "skis":
		return "ski", true
	case "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "idly":
		return "idl", true
	case "gently":
		return "gentl", true
	case "ugly":
		return "ugli", true
	case "early":
		return "earli", true
	case "only":
		return "onli", true
	case "singly":
		return "singl", true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return word, true
	}
	return "", false
}

// result is the stem of word: a part of it if possible, so that nothing is copied.
func (p *porter) result(word string) string {
	for i, c := range p.buf[:p.n] {
		if c == 'Y' {
			p.buf[i] = 'y'
		}
	}
	if p.n <= len(word) && string(p.buf[:p.n]) == word[:p.n] {
		return word[:p.n]
	}
	return string(p.buf[:p.n])
}

// mark writes each y that is a consonant as Y, and finds the regions.
func (p *porter) mark() {
	for i := range p.n {
		if p.buf[i] == 'y' && (i == 0 || vowel(p.buf[i-1])) {
			p.buf[i] = 'Y'
		}
	}
	p.r1 = p.region(0)
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if n := len(prefix); p.n >= n && string(p.buf[:n]) == prefix {
			p.r1 = n
		}
	}
	p.r2 = p.region(p.r1)
}

func (p *porter) region(i int) int {
	for i < p.n && !vowel(p.buf[i]) {
		i++
	}
	for i < p.n && vowel(p.buf[i]) {
		i++
	}
	return min(i+1, p.n)
}

func vowel(c byte) bool {
	return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'
}

func (p *porter) ends(suffix string) bool {
	return p.n >= len(suffix) && string(p.buf[p.n-len(suffix):p.n]) == suffix
}

func (p *porter) hasVowel(before int) bool {
	for i := range before {
		if vowel(p.buf[i]) {
			return true
		}
	}
	return false
}

// longest returns the first of the endings that fits.
func (p *porter) longest(endings []ending) (ending, bool) {
	for _, e := range endings {
		if p.buf[p.n-1] == e.from[len(e.from)-1] && p.ends(e.from) {
			return e, true
		}
	}
	return ending{}, false
}

func (p *porter) replace(e ending) {
	p.n -= len(e.from)
	p.n += copy(p.buf[p.n:], e.to)
}

// step1a: plurals.
func (p *porter) step1a() {
	switch {
	case p.ends("sses"):
		p.n -= 2
	case p.ends("ied"), p.ends("ies"):
		p.n -= 2
		if p.n == 2 {
			p.n++
		}
	case p.ends("us"), p.ends("ss"):
	case p.ends("s") && p.hasVowel(p.n-2):
		p.n--
	}
}

// step1b: the past and the present participle.
func (p *porter) step1b() {
	switch {
	case p.ends("eedly"):
		p.eed(5)
	case p.ends("ingly"):
		p.participle(5)
	case p.ends("edly"):
		p.participle(4)
	case p.ends("eed"):
		p.eed(3)
	case p.ends("ing"):
		p.participle(3)
	case p.ends("ed"):
		p.participle(2)
	}
}

func (p *porter) eed(size int) {
	if p.n-size >= p.r1 {
		p.n -= size - 2
	}
}

func (p *porter) participle(size int) {
	if !p.hasVowel(p.n - size) {
		return
	}
	p.n -= size
	switch {
	case p.ends("at"), p.ends("bl"), p.ends("iz"):
		p.buf[p.n] = 'e'
		p.n++
	case p.doubled():
		p.n--
	case p.n == p.r1 && p.short(p.n):
		p.buf[p.n] = 'e'
		p.n++
	}
}

func (p *porter) doubled() bool {
	if p.n < 2 || p.buf[p.n-1] != p.buf[p.n-2] {
		return false
	}
	switch p.buf[p.n-1] {
	case 'b', 'd', 'f', 'g', 'm', 'n', 'p', 'r', 't':
		return true
	}
	return false
}

// short reports whether the first n letters end in a short syllable: hop, at.
func (p *porter) short(n int) bool {
	if n == 2 {
		return vowel(p.buf[0]) && !vowel(p.buf[1])
	}
	if n < 3 || vowel(p.buf[n-1]) || !vowel(p.buf[n-2]) || vowel(p.buf[n-3]) {
		return false
	}
	c := p.buf[n-1]
	return c != 'w' && c != 'x' && c != 'Y'
}

// step1c: y becomes i after a consonant.
func (p *porter) step1c() {
	if c := p.buf[p.n-1]; p.n > 2 && (c == 'y' || c == 'Y') && !vowel(p.buf[p.n-2]) {
		p.buf[p.n-1] = 'i'
	}
}

func (p *porter) step2() {
	e, ok := p.longest(endings2)
	at := p.n - len(e.from)
	if !ok || at < p.r1 {
		return
	}
	switch e.from {
	case "ogi":
		ok = at > 0 && p.buf[at-1] == 'l'
	case "li":
		ok = false
		if at > 0 {
			switch p.buf[at-1] {
			case 'c', 'd', 'e', 'g', 'h', 'k', 'm', 'n', 'r', 't':
				ok = true
			}
		}
	}
	if ok {
		p.replace(e)
	}
}

func (p *porter) step3() {
	e, ok := p.longest(endings3)
	at := p.n - len(e.from)
	if ok && at >= p.r1 && (e.from != "ative" || at >= p.r2) {
		p.replace(e)
	}
}

func (p *porter) step4() {
	e, ok := p.longest(endings4)
	at := p.n - len(e.from)
	if !ok || at < p.r2 {
		return
	}
	if e.from != "ion" || at > 0 && (p.buf[at-1] == 's' || p.buf[at-1] == 't') {
		p.replace(e)
	}
}

// step5: a silent e, and the second of two l.
func (p *porter) step5() {
	at := p.n - 1
	switch {
	case p.ends("e") && (at >= p.r2 || at >= p.r1 && !p.short(at)):
		p.n--
	case p.ends("l") && at >= p.r2 && at > 0 && p.buf[at-1] == 'l':
		p.n--
	}
}
