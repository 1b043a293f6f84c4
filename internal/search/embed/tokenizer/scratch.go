package tokenizer

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// scratch holds the buffers of one call, for reuse. No content is kept between
// calls.
type scratch struct {
	text    []byte // normalised so far
	spare   []byte // the buffer of the next step
	most    int    // the limit of the text's length
	word    []byte
	parts   parts // the words, after a pre-tokenizer
	next    parts
	lattice lattice
	symbols []int32 // of BPE
	iter    norm.Iter
}

// small reports whether s may be kept for reuse. The buffers of a very long text
// are not kept.
func (s *scratch) small() bool {
	return cap(s.text)+cap(s.spare)+cap(s.word)+cap(s.parts.text)+cap(s.next.text) <= 256<<10
}

// load copies a text. Each byte that is not UTF-8 becomes U+FFFD.
func (s *scratch) load(text string) {
	s.text = s.text[:0]
	if utf8.ValidString(text) {
		s.text = append(s.text, text...)
		return
	}
	for _, r := range text {
		s.text = utf8.AppendRune(s.text, r)
	}
}

// normalized brings the text to a form. Text that is in it already, as nearly all
// is, is not copied; otherwise only the parts that differ are converted.
func (s *scratch) normalized(form norm.Form) []byte {
	same := form.QuickSpan(s.text)
	if same == len(s.text) {
		return s.text
	}
	out := s.spare[:0]
	for rest := s.text; ; same = form.QuickSpan(rest) {
		out = append(out, rest[:same]...)
		if rest = rest[same:]; len(rest) == 0 {
			break
		}
		segment := rest[:form.NextBoundary(rest, true)]
		for s.iter.Init(form, segment); !s.iter.Done(); {
			out = append(out, s.iter.Next()...)
		}
		rest = rest[len(segment):]
	}
	s.text, s.spare = out, s.text
	return s.text
}

// parts is a list of words.
type parts struct {
	text []byte
	ends []int
}

func (p *parts) reset() { p.text, p.ends = p.text[:0], p.ends[:0] }

// cut ends a word, unless it is empty.
func (p *parts) cut() {
	if len(p.text) > p.end() {
		p.ends = append(p.ends, len(p.text))
	}
}

// end is the end of the last complete word.
func (p *parts) end() int {
	if len(p.ends) == 0 {
		return 0
	}
	return p.ends[len(p.ends)-1]
}

// word returns word i.
func (p *parts) word(i int) []byte {
	if i == 0 {
		return p.text[:p.ends[0]]
	}
	return p.text[p.ends[i-1]:p.ends[i]]
}
