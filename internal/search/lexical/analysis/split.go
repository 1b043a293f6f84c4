package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Form is the kind of a token.
type Form uint8

// The forms.
const (
	Plain  Form = iota // a word, or a part of a compound one
	Number             // digits only
	NGram              // one or two characters of a script without spaces
	Joined             // neighbouring tokens read as one word: git+hub
)

// Token is one word of a text: the bytes lo to hi of the splitter's buffer.
type Token struct {
	Lo, Hi int32
	Form   Form
}

// The limits of a token, in bytes.
const (
	MaxToken  = 64 // longer runs of letters are data, not words
	MaxJoined = 32 // longer compounds are found by their parts
)

// Splitter splits texts into tokens. It reuses its buffers from text to text, so
// that it allocates nothing for a word.
//
// Letters are folded while they are copied: lower case, without accents. A run of
// letters and digits is split where its case or kind changes (readFile,
// HTTPServer, base64), and neighbouring parts are also returned joined, since
// people write both GitHub and github. Scripts without spaces become pairs of
// characters.
type Splitter struct {
	Tokens []Token // of the last text
	Accent bool    // it had an accent, or a letter beyond the plain alphabet

	buf []byte

	run    int   // the first token of the current run
	part   int32 // buffer offset at which the current part began
	last   int32 // offset of the last character
	class  class // class of the last character
	uppers int   // upper-case letters at the end of the part
	name   bool  // the text is a name: all its neighbours are joined
	glued  bool  // the current run is joined to the last one
	marks  []int32
}

// Split splits one text, a name or prose. The tokens are valid until the next
// call.
func (s *Splitter) Split(text string, name bool) {
	*s = Splitter{buf: s.buf[:0], Tokens: s.Tokens[:0], marks: s.marks[:0], name: name}
	if !ascii(text) && norm.NFKC.QuickSpanString(text) != len(text) {
		text = norm.NFKC.String(text)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			s.letter(asciiClass[c], text, i)
			i++
			if s.class == lower { // as in most of a text: take the rest of the word at once
				end := i
				for end < len(text) && 'a' <= text[end] && text[end] <= 'z' {
					end++
				}
				s.buf = append(s.buf, text[i:end]...)
				i = end
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		s.rune(r)
		i += size
	}
	s.endRun()
}

// letter reads one ASCII character.
func (s *Splitter) letter(k class, text string, i int) {
	switch {
	case k == separator:
		glue := s.name && (s.glued || s.class != separator) || text[i] == '-' && s.class != separator
		s.endRun()
		s.glued = glue
		return
	case s.class == separator || s.class == ideograph || s.class == syllable:
		s.startRun()
	case k == digit != (s.class == digit), k == upper && s.class == lower:
		s.endPart()
	case k == lower && s.uppers > 1 && !pluralOfCapitals(text, i):
		s.cutBeforeLast()
	}
	s.last, s.class = int32(len(s.buf)), k
	if k == upper {
		s.uppers++
		s.buf = append(s.buf, text[i]|0x20)
		return
	}
	s.uppers = 0
	s.buf = append(s.buf, text[i])
}

// pluralOfCapitals reports whether the s at i ends a word like APIs or URLs.
func pluralOfCapitals(text string, i int) bool {
	return text[i] == 's' && (i+1 == len(text) || text[i+1] < 'a' || text[i+1] > 'z')
}

// rune reads one character beyond ASCII.
func (s *Splitter) rune(r rune) {
	k := classOf(r)
	switch k {
	case dropped:
		return
	case separator:
		s.endRun()
		return
	case ideograph, syllable:
		if s.class != k {
			s.endRun()
			s.startRun()
		}
		s.marks = append(s.marks, int32(len(s.buf)))
		s.buf, s.class = utf8.AppendRune(s.buf, r), k
		return
	}
	switch {
	case s.class == separator || s.class == ideograph || s.class == syllable:
		s.startRun()
	case k == digit != (s.class == digit), k == upper && s.class == lower:
		s.endPart()
	case k == lower && s.uppers > 1:
		s.cutBeforeLast()
	}
	s.last, s.class = int32(len(s.buf)), k
	s.uppers++
	if k != upper {
		s.uppers = 0
	}
	s.buf = appendFolded(s.buf, r)
	s.Accent = s.Accent || s.buf[s.last] < utf8.RuneSelf
}

func (s *Splitter) startRun() {
	if s.class == ideograph || s.class == syllable {
		s.endRun()
	}
	s.run, s.part, s.uppers = len(s.Tokens), int32(len(s.buf)), 0
	s.marks = s.marks[:0]
}

// endPart closes the part that ends at the end of the buffer.
func (s *Splitter) endPart() {
	s.add(s.part, int32(len(s.buf)))
	s.part, s.uppers = int32(len(s.buf)), 0
}

// cutBeforeLast closes the part before the last letter: HTTP|Server.
func (s *Splitter) cutBeforeLast() {
	s.add(s.part, s.last)
	s.part = s.last
}

func (s *Splitter) add(lo, hi int32) {
	if lo == hi {
		return
	}
	p := Token{Lo: lo, Hi: hi}
	if c := s.buf[lo]; c >= '0' && c <= '9' {
		p.Form = Number
	}
	s.Tokens = append(s.Tokens, p)
}

// endRun closes a run of letters and adds its joined forms.
func (s *Splitter) endRun() {
	switch s.class {
	case separator:
	case ideograph:
		s.endGrams(s.marks)
	case syllable:
		s.endHangul()
	default:
		s.endPart()
		s.endWord()
	}
	s.class, s.glued = separator, false
}

func (s *Splitter) endWord() {
	parts := s.Tokens[s.run:]
	size := int(int32(len(s.buf)) - parts[0].Lo)
	if len(parts) > 3 && size < 3*len(parts) { // 8MroWKiUCA5: an identifier, not words
		s.Tokens = s.Tokens[:s.run]
		return
	}
	if size > MaxToken { // only what is short enough to be a word
		kept := s.run
		for _, p := range parts {
			if p.Hi-p.Lo <= MaxToken {
				s.Tokens[kept] = p
				kept++
			}
		}
		if kept < len(s.Tokens) {
			s.Tokens = s.Tokens[:kept]
			return
		}
	}
	first, last := s.run, len(s.Tokens)-1
	if first > 0 && s.glued {
		s.join(s.before(first), first)
	}
	for i := first; i < last; i++ {
		s.join(i, i+1)
	}
	if last-first == 2 {
		s.join(first, last)
	}
}

// before is the last token before i that is not joined.
func (s *Splitter) before(i int) int {
	for i--; i > 0 && s.Tokens[i].Form == Joined; i-- {
	}
	return i
}

// join adds the tokens a to b as one word, too, unless they are numbers or
// characters. They are adjacent in the buffer, so nothing is copied.
func (s *Splitter) join(a, b int) {
	first, last := s.Tokens[a], s.Tokens[b]
	if last.Hi-first.Lo > MaxJoined || first.Form == NGram || first.Form != Plain && last.Form != Plain ||
		a+1 == b && first.Hi != last.Lo {
		return
	}
	s.Tokens = append(s.Tokens, Token{Lo: first.Lo, Hi: last.Hi, Form: Joined})
}

// endGrams adds the characters that start at marks in pairs, or a single one
// alone.
func (s *Splitter) endGrams(marks []int32) {
	end := int32(len(s.buf))
	for i := range marks {
		hi := end
		if i+2 < len(marks) {
			hi = marks[i+2]
		}
		if i+1 == len(marks) && i > 0 {
			break
		}
		s.Tokens = append(s.Tokens, Token{Lo: marks[i], Hi: hi, Form: NGram})
	}
}

// endHangul adds a Korean word in pairs of syllables and as a whole, without the
// particle at its end.
func (s *Splitter) endHangul() {
	lo := s.marks[0]
	kept := len(s.buf) - particle(s.buf[lo:])
	s.buf = s.buf[:kept]
	marks := s.marks
	for marks[len(marks)-1] >= int32(kept) {
		marks = marks[:len(marks)-1]
	}
	s.endGrams(marks)
	if n := len(s.Tokens) - s.run; n > 1 {
		s.Tokens = append(s.Tokens, Token{Lo: lo, Hi: int32(kept), Form: Joined})
	}
}

// Text is the bytes of a token, valid until the next call of Split.
func (s *Splitter) Text(p Token) []byte { return s.buf[p.Lo:p.Hi] }

// Folded is the folded text without the characters between tokens, which are
// adjacent in it.
func (s *Splitter) Folded() string { return string(s.buf) }

func ascii(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// class is the class of a character.
type class uint8

const (
	separator class = iota
	lower           // also letters without case, and marks that belong to a word
	upper
	digit
	ideograph // a script that writes no spaces
	syllable  // Hangul
	dropped   // accents and joiners: ignored
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z':
			t[c] = lower
		case 'A' <= c && c <= 'Z':
			t[c] = upper
		case '0' <= c && c <= '9':
			t[c] = digit
		}
	}
	return t
}()

// spaceless are the scripts without spaces between words.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// accented are the scripts whose marks people leave out in writing.
var accented = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Inherited, unicode.Arabic, unicode.Hebrew,
}

func classOf(r rune) class {
	switch {
	case 0x4E00 <= r && r <= 0x9FFF, r == 'ー':
		return ideograph
	case 0xAC00 <= r && r <= 0xD7A3:
		return syllable
	case r == utf8.RuneError:
		return separator
	case unicode.IsMark(r):
		if unicode.In(r, spaceless...) {
			return ideograph
		}
		if unicode.In(r, accented...) {
			return dropped
		}
		return lower
	case unicode.In(r, spaceless...) && unicode.IsLetter(r):
		return ideograph
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case r == 'ـ', r == 0x200D, r == 0x200C, r == 0xAD:
		return dropped
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	}
	return separator
}
