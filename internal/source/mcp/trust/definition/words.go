package definition

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunk is a part of a text that is new (+), gone (-) or in both ( ).
type chunk struct {
	mark byte
	text string
}

const (
	contextWords = 8       // shown on each side of a change
	minGapWords  = 3       // two changes with fewer equal words between them are shown as one
	maxCells     = 4 << 20 // of the comparison; beyond it the middle is shown as all gone and all new
)

// compareText compares two texts word by word. Equal parts are shortened to the
// words around the changes.
func compareText(before, now string) []chunk {
	a, b := tokens(before), tokens(now)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var edits []edit
	edits = append(edits, edit{' ', a[:head]})
	edits = append(edits, align(a[head:len(a)-tail], b[head:len(b)-tail])...)
	edits = append(edits, edit{' ', a[len(a)-tail:]})
	return chunks(mergeSmallGaps(edits))
}

// tokens splits a text into words, line ends and the blanks between. Joined they
// are the text again.
func tokens(s string) []string {
	var out []string
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r != '\n' {
			blank := unicode.IsSpace(r)
			for n < len(s) {
				r, size := utf8.DecodeRuneInString(s[n:])
				if r == '\n' || unicode.IsSpace(r) != blank {
					break
				}
				n += size
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// edit is a sequence of tokens with one mark.
type edit struct {
	mark   byte
	tokens []string
}

// align finds a longest common subsequence.
func align(a, b []string) []edit {
	if len(a)*len(b) > maxCells {
		return []edit{{'-', a}, {'+', b}}
	}
	cols := len(b) + 1
	most := make([]int32, (len(a)+1)*cols) // most[i][j]: of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				most[i*cols+j] = most[(i+1)*cols+j+1] + 1
			} else {
				most[i*cols+j] = max(most[(i+1)*cols+j], most[i*cols+j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i : i+1]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && most[(i+1)*cols+j] >= most[i*cols+j+1]:
			out = append(out, edit{'-', a[i : i+1]})
			i++
		default:
			out = append(out, edit{'+', b[j : j+1]})
			j++
		}
	}
	return out
}

// mergeSmallGaps joins changes that have only a few equal words between them, and
// puts what is gone before what is new.
func mergeSmallGaps(edits []edit) []edit {
	var out []edit
	var gone, added, gap []string
	changed := false
	flush := func() {
		if len(gone) > 0 {
			out = append(out, edit{'-', gone})
		}
		if len(added) > 0 {
			out = append(out, edit{'+', added})
		}
		if len(gap) > 0 {
			out = append(out, edit{' ', gap})
		}
		gone, added, gap, changed = nil, nil, nil, false
	}
	for _, e := range edits {
		if e.mark == ' ' {
			gap = append(gap, e.tokens...)
			continue
		}
		if changed && words(gap) >= minGapWords || !changed && len(gap) > 0 {
			flush()
		}
		gone, added = append(gone, gap...), append(added, gap...)
		gap, changed = nil, true
		if e.mark == '-' {
			gone = append(gone, e.tokens...)
		} else {
			added = append(added, e.tokens...)
		}
	}
	flush()
	return out
}

// words counts the tokens that are not blank.
func words(tokens []string) int {
	n := 0
	for _, t := range tokens {
		if strings.TrimSpace(t) != "" {
			n++
		}
	}
	return n
}

// chunks joins the tokens again, and shortens equal parts.
func chunks(edits []edit) []chunk {
	var out []chunk
	for i, e := range edits {
		s := strings.Join(e.tokens, "")
		if e.mark == ' ' {
			s = around(e.tokens, i > 0, i < len(edits)-1)
		}
		if e.mark != ' ' || strings.TrimSpace(s) != "" {
			out = append(out, chunk{e.mark, s})
		}
	}
	return out
}

// around shortens an equal part to the words next to the changes before and
// after it.
func around(tokens []string, after, before bool) string {
	const each = 2 * contextWords // a word and its blank
	keep := 0
	if after {
		keep += each
	}
	if before {
		keep += each
	}
	if len(tokens) <= keep {
		return strings.Join(tokens, "")
	}
	s := "…"
	if after {
		s = strings.TrimRight(strings.Join(tokens[:each], ""), " \n") + " …"
	}
	if before {
		s += " " + strings.TrimLeft(strings.Join(tokens[len(tokens)-each:], ""), " \n")
	}
	return s
}
