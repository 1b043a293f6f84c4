package compact

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/llm"
)

// minResult is the tokens that a shortened result still has.
const minResult = 64

// shortened is a result in about so many tokens: its beginning, its end, and a
// mark between them.
func (p Policy) shortened(r *llm.ToolResult, tokens int) string {
	var words []string
	images := 0
	for _, c := range r.Content {
		if c.Text != "" {
			words = append(words, c.Text)
		}
		if c.Type == "image" {
			images++
		}
	}
	text := strings.Join(words, "\n")
	if images > 0 {
		text = fmt.Sprintf("[images were here: %d, no longer shown]\n%s", images, text)
	}
	for size := p.bytesFor(text, tokens); ; size = size * 3 / 4 {
		short := headAndTail(text, size)
		if p.Tokens(short) <= tokens || size < 16 {
			return short
		}
	}
}

// bytesFor is about how many bytes of a text so many tokens are.
func (p Policy) bytesFor(text string, tokens int) int {
	if n := p.Tokens(text); n > tokens {
		return int(float64(len(text)) * float64(tokens) / float64(n))
	}
	return len(text)
}

// headAndTail is a text in at most size bytes and a mark: two thirds of them
// from its beginning.
func headAndTail(text string, size int) string {
	if len(text) <= size {
		return text
	}
	const mark = "\n[… %d bytes are left out here to save room …]\n"
	size = max(size-len(mark)-8, 0)
	head, tail := size*2/3, len(text)-size/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf(mark, tail-head) + text[tail:]
}
