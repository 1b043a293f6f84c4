package phrasing

import (
	"unicode"
	"unicode/utf8"
)

// scanner cuts a text into pieces, each character once.
type scanner struct {
	text   string
	pieces []piece
	words  *words

	values  bool // a value was found
	marks   languages
	chunk   int // no value starts before this byte
	line    int // where the line starts
	item    int // the number of the next list item inside a line
	closers [len(quotations)]int
	noBrace bool
	folded  [maxTermBytes]byte // the word that is read, in lower case
	parts   []part
}

func (s *scanner) scan() {
	s.item = 1
	for i := 0; i < len(s.text); {
		r, size := rune(s.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[i:])
		}
		switch {
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			i = s.newLine(i, size)
		case space(r):
			i += size
		default:
			i = s.piece(i, r, size)
		}
	}
}

// piece reads the piece at i, which starts with the character r, and returns
// where it ends.
func (s *scanner) piece(i int, r rune, size int) int {
	if r < utf8.RuneSelf && letter(r) && i != s.line {
		if hi := s.plainWord(i); hi > i {
			return hi
		}
	}
	if _, ok := unspaced(r); ok {
		return s.run(i)
	}
	if hi := s.listNumber(i); hi > i {
		s.add(mark, i, hi, 0)
		return hi
	}
	if hi := s.quotation(i, r, size); hi > i {
		return s.addValue(i, hi)
	}
	if i >= s.chunk {
		if hi := s.addChunk(i, r); hi > i {
			return hi
		}
	}
	if letter(r) {
		return s.word(i)
	}
	s.punctuation(i, r, size)
	return i + size
}

func (s *scanner) add(k kind, lo, hi int, weight int32) {
	if n := len(s.pieces); n > 0 {
		weight += s.pieces[n-1].weight
	}
	s.pieces = append(s.pieces, piece{lo: int32(lo), hi: int32(hi), weight: weight, term: noTerm, kind: k})
}

func (s *scanner) addValue(lo, hi int) int {
	s.values = true
	s.add(value, lo, hi, wordWeight)
	return hi
}

// newLine ends what stands on a line, unless the line was broken to fit a page:
// then it is long, and the next one goes on in lower case.
func (s *scanner) newLine(i, size int) int {
	long := i-s.line >= 60
	i += size
	for i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t') {
		i++
	}
	s.line = i
	next, _ := utf8.DecodeRuneInString(s.text[i:])
	if n := len(s.pieces); n > 0 && s.pieces[n-1].kind != end && !(long && unicode.IsLower(next)) {
		s.add(end, i, i, 0)
	}
	return i
}

// plainWord reads a word of ASCII letters with a space or the end of a phrase
// after it, and returns i for all others. Most words are such words.
func (s *scanner) plainWord(i int) int {
	j := i
	for ; j < len(s.text); j++ {
		b := s.text[j]
		if b < 'a' || b > 'z' {
			if b < 'A' || b > 'Z' {
				break
			}
			b += 'a' - 'A'
		}
		if j-i < maxTermBytes {
			s.folded[j-i] = b
		}
	}
	if j < len(s.text) {
		switch s.text[j] {
		case ' ', ',', '\n':
		case '.', '!', '?':
			if j+1 < len(s.text) && s.text[j+1] != ' ' {
				return i
			}
		default:
			return i
		}
	}
	s.addWord(i, j, min(j-i, maxTermBytes))
	return j
}

// word reads a word: letters, and what stands between two letters of a word.
func (s *scanner) word(lo int) int {
	n, hi := 0, lo
	for hi < len(s.text) {
		r, size := rune(s.text[hi]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[hi:])
		}
		if !letter(r) && !s.insideWord(hi, r, size) {
			break
		}
		if n+utf8.UTFMax <= maxTermBytes {
			n += utf8.EncodeRune(s.folded[n:], lower(r))
		} else {
			n = maxTermBytes
		}
		hi += size
	}
	s.addWord(lo, hi, n)
	return hi
}

// addWord adds a word that has n bytes in lower case.
func (s *scanner) addWord(lo, hi, n int) {
	s.add(word, lo, hi, wordWeight)
	if n == 0 || n >= maxTermBytes {
		return
	}
	if at := s.words.find(s.folded[:n]); at != noTerm {
		s.pieces[len(s.pieces)-1].term = at
		s.known(&s.words.terms[at].is)
	}
}

func lower(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	case r >= 'а' && r <= 'я':
		return r
	case r == '’':
		return '\''
	case r >= 0x0530 && r < 0x10a0, r >= 0xac00:
		return r // scripts without capital letters, or with rare ones
	}
	return unicode.ToLower(r)
}

// insideWord reports whether the character at i joins two letters: don't,
// e-mail, e.g, and/or.
func (s *scanner) insideWord(i int, r rune, size int) bool {
	switch r {
	case '\'', '’', '-', '.', '/', '·', '\u2011', '\u05f3', '\u05f4':
		next, _ := utf8.DecodeRuneInString(s.text[i+size:])
		return letter(next)
	}
	return false
}

// known acts on a word of the vocabulary that was just added.
func (s *scanner) known(is *traits) {
	s.marks |= is.marks
	n := len(s.pieces)
	if !is.month {
		return
	}
	// The day stands before its month, and "de" or a full stop may be between them.
	for back := 2; back <= 3 && back <= n; back++ {
		if day := s.pieces[n-back]; day.kind <= value && digit(s.text[day.lo]) {
			for at := n - back; at < n; at++ {
				s.pieces[at].kind = value
			}
			s.values = true
			return
		}
		if p := s.pieces[n-back]; s.text[p.lo:p.hi] != "de" && s.text[p.lo:p.hi] != "." || p.kind == end {
			return
		}
	}
}

// run reads letters of a script without spaces, up to a conjunction.
func (s *scanner) run(lo int) int {
	hi, sum := lo, int32(0)
	for hi < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[hi:])
		w, ok := unspaced(r)
		if !ok {
			break
		}
		if length, force := joinerInRun(s.text[hi:], r); length > 0 {
			if hi > lo {
				s.add(run, lo, hi, sum)
			}
			s.add(joiner, hi, hi+length, 0)
			s.pieces[len(s.pieces)-1].force = force
			return hi + length
		}
		sum += w
		hi += size
	}
	s.add(run, lo, hi, sum)
	return hi
}

// punctuation reads one character that is no part of a word.
func (s *scanner) punctuation(i int, r rune, size int) {
	switch {
	case r == ',' || r == '、' || r == '，' || r == '،' || r == '､' || r == '፣' || r == '၊':
		s.comma(i, r, size)
	case closesSentence(r), (r == '.' || r == '!' || r == '?') && s.endsSentence(i):
		s.add(end, i, i+size, 0)
	default:
		s.add(mark, i, i+size, 0)
	}
}

// comma reads a comma. After a Japanese verb that says "and" by its ending, it
// joins two actions.
func (s *scanner) comma(i int, r rune, size int) {
	s.add(comma, i, i+size, 0)
	n := len(s.pieces) - 1
	if (r == '、' || r == '，') && n > 0 && s.pieces[n-1].kind == run && connects(s.text[s.pieces[n-1].lo:i]) {
		s.pieces[n].kind, s.pieces[n].force = joiner, plain
	}
}

// endsSentence reports whether the full stop, exclamation mark or question mark
// at i ends a sentence.
func (s *scanner) endsSentence(i int) bool {
	next := i + 1
	for next < len(s.text) && (s.text[next] == ')' || s.text[next] == '"' || s.text[next] == '\'') {
		next++
	}
	following, _ := utf8.DecodeRuneInString(s.text[next:])
	_, without := unspaced(following)
	if next < len(s.text) && !space(following) && !without {
		return false
	}
	if s.text[i] != '.' || len(s.pieces) == 0 {
		return true
	}
	last := s.pieces[len(s.pieces)-1]
	if int(last.hi) != i || next == len(s.text) {
		return true
	}
	switch last.kind {
	case number:
		return s.text[next] == '\n' // am 3. Mai
	case word:
		return !s.abbreviation(last)
	}
	return true
}

// abbreviation reports whether a word before a full stop is an abbreviation: one
// that is known, a single letter, or letters with full stops between them.
func (s *scanner) abbreviation(p piece) bool {
	if p.term != noTerm && s.words.terms[p.term].is.abbreviation {
		return true
	}
	letters, dotted := 0, false
	for _, r := range s.text[p.lo:p.hi] {
		letters++
		if r == '.' {
			letters, dotted = 0, true
		}
		if letters > 2 {
			return false
		}
	}
	return dotted || letters == 1
}

// listNumber returns where the number of a list item ends that starts at i, or
// i. At the start of a line it is any number or letter; inside a line the
// numbers count from one, and there is a second.
func (s *scanner) listNumber(i int) int {
	j := i
	if s.text[j] == '(' {
		j++
	}
	n, digits := 0, 0
	for j < len(s.text) && digit(s.text[j]) && digits < 3 {
		n, j, digits = n*10+int(s.text[j]-'0'), j+1, digits+1
	}
	first := len(s.pieces) == 0 || s.pieces[len(s.pieces)-1].kind == end
	if digits == 0 && first && i == s.line && j < len(s.text) && s.text[j] >= 'a' && s.text[j] <= 'h' {
		j, digits = j+1, 1
		if j < len(s.text) && s.text[j] == '.' {
			return i
		}
	}
	if digits == 0 || j >= len(s.text) || !s.followsNumber(i, j) {
		return i
	}
	if s.text[j] < utf8.RuneSelf {
		j++
	} else {
		j += len("、")
	}
	if i == s.line {
		if n == s.item {
			s.item++
		}
		return j
	}
	if n != s.item || n == 0 || i > 0 && s.text[i-1] != ' ' {
		return i
	}
	if n == 1 && !hasSecond(s.text[j:]) {
		s.item = 0 // there is no list, and the text need not be read for it again
		return i
	}
	s.item++
	if !first && len(s.pieces) > 0 {
		s.add(end, i, i, 0)
	}
	return j
}

// followsNumber reports whether the character at j makes a list item's number
// of what stands between i and j.
func (s *scanner) followsNumber(i, j int) bool {
	rest := s.text[j:]
	if len(rest) >= len("、") && rest[:len("、")] == "、" {
		return true
	}
	if rest[0] != ')' && (rest[0] != '.' || s.text[i] == '(') {
		return false
	}
	if len(rest) == 1 {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[1:])
	_, without := unspaced(next)
	return space(next) || without
}
