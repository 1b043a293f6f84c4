package phrasing

import "unicode/utf8"

// kind is what a piece of a text is.
type kind uint8

const (
	word   kind = iota // letters of a script with spaces
	run                // letters of a script without spaces
	number             // a short number without a unit, which may be a part of the sense: top 10
	value              // what a request is about and not what it asks for
	joiner             // a conjunction inside a script without spaces
	comma
	mark // other punctuation, and the number of a list item
	end  // the end of a sentence, a list item or a line
)

// piece is one piece of a text: its bytes lo to hi.
type piece struct {
	lo, hi int32
	weight int32 // how much the pieces before this one and this one say
	term   int16 // a word's place in the vocabulary, or noTerm
	kind   kind
	force  force // of a joiner
}

const noTerm = -1

// The weights: a clause has at least three words, or five characters of Chinese
// or Japanese, or fifteen of a script that writes words of several letters
// without spaces.
const (
	wordWeight      = 5
	characterWeight = 3
	letterWeight    = 1

	clauseWeight = 3 * wordWeight
	actionWeight = 4 * wordWeight // on each side of a plain "and" that joins two actions
	quietWeight  = 4 * characterWeight
)

// unspaced returns the weight of a character of a script without spaces between
// words, and false for other characters.
func unspaced(r rune) (weight int32, ok bool) {
	switch {
	case r < 0x0e00:
		return 0, false
	case r < 0x1100:
		return belowHangul(r)
	case r >= 0x1780 && r < 0x1800: // Khmer
		return letterOrMark(r >= 0x17b4 && r <= 0x17d3), r != '។' && r != '៕'
	case r < 0x3005:
		return 0, false
	case r <= 0x3007, r >= 0x3041 && r <= 0x30fa, r == 'ー', r >= 0x31f0 && r < 0x3200,
		r >= 0x3400 && r < 0xa000, r >= 0xf900 && r < 0xfb00, r >= 0xff66 && r < 0xffa0,
		r >= 0x20000 && r < 0x40000:
		return characterWeight, true
	}
	return 0, false
}

// belowHangul is [unspaced] for Thai, Lao, Tibetan and Burmese.
func belowHangul(r rune) (weight int32, ok bool) {
	switch {
	case r < 0x0e80:
		return letterOrMark(r == 0x0e31 || r >= 0x0e34 && r <= 0x0e3a || r >= 0x0e47 && r <= 0x0e4e), r != '฿'
	case r < 0x0f00:
		return letterOrMark(r == 0x0eb1 || r >= 0x0eb4 && r <= 0x0ebc || r >= 0x0ec8 && r <= 0x0ece), true
	case r < 0x1000:
		return letterOrMark(r >= 0x0f71), r != '།' && r != '༎'
	case r < 0x10a0:
		return letterOrMark(r >= 0x102b && r <= 0x103e), r != '၊' && r != '။'
	}
	return 0, false
}

func letterOrMark(isMark bool) int32 {
	if isMark {
		return 0
	}
	return letterWeight
}

// letter reports whether a character belongs to a word of a script with spaces.
// Beyond ASCII it asks for what is no letter, for that is the shorter list.
func letter(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
	case r < 0xc0:
		return r == 'ª' || r == 'µ' || r == 'º'
	case r < 0x2000:
		switch r {
		case '×', '÷', '\u037e', '\u0387', '։', '،', '؛', '؟', '۔', '।', '॥', '።', '፣', '፤', '᠂', '᠃', '\u05be',
			'\u1680':
			return false
		}
		_, without := unspaced(r)
		return !without && r != '฿' && r != '།' && r != '༎' && r != '၊' && r != '။' && r != '។' && r != '៕'
	case r >= 0xac00 && r < 0xd7b0, r == '\u200c', r == '\u200d':
		return true
	}
	return r >= 0x2c00 && r < 0x2e00 || r >= 0x3130 && r < 0x3190 || r >= 0xa000 && r < 0xac00 ||
		r >= 0xfb00 && r < 0xfd3e || r >= 0xfe70 && r < 0xfeff || r >= 0x10000 && r < 0x1d000
}

// space reports whether a character separates words and says nothing.
func space(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\v', '\f', '\u0085', '\u00a0', '\u1680', '\u2028', '\u2029', '\u202f',
		'\u205f', '\u3000',
		'\ufeff', '\u200b', '\u200e', '\u200f':
		return true
	}
	return r >= '\u2000' && r <= '\u200a'
}

// closesSentence reports whether a character ends a sentence wherever it stands.
func closesSentence(r rune) bool {
	switch r {
	case ';', '。', '！', '？', '；', '．', '｡', '।', '॥', '؟', '۔', '؛', '።', '፤', '။', '។', '៕', '\u037e',
		'\u0387', '։', '།', '༎',
		'᠃', '…':
		return true
	}
	return false
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
