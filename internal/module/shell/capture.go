package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/tool"
)

// Bytes that are kept of the output, from its start and from its end. What the
// kernel cuts for a model is in the result's artifact, so what is kept here is what
// can be read later; a command that prints more is told so, with the numbers.
const (
	keptHead = 4 << 20
	keptTail = 4 << 20
)

// capture keeps the head and the tail of a stream, counts the rest, and passes
// everything on to watchers of the call.
type capture struct {
	name  string
	grant tool.Grant
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // the start of the ring
	total int64
}

func newCapture(name string, grant tool.Grant) *capture {
	return &capture{name: name, grant: grant}
}

// Write never fails: a command must not die because it prints a lot.
func (c *capture) Write(p []byte) (int, error) {
	c.grant.Output(c.name, p)
	c.total += int64(len(p))
	rest := p
	if free := keptHead - len(c.head); free > 0 {
		n := min(free, len(rest))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) > keptTail {
		rest = rest[len(rest)-keptTail:]
	}
	if free := keptTail - len(c.tail); free > 0 && c.at == 0 {
		n := min(free, len(rest))
		c.tail = append(c.tail, rest[:n]...)
		rest = rest[n:]
	}
	for len(rest) > 0 {
		n := copy(c.tail[c.at:], rest)
		rest = rest[n:]
		c.at = (c.at + n) % keptTail
	}
	return len(p), nil
}

// cut reports whether something was left out.
func (c *capture) cut() bool { return c.total > int64(len(c.head)+len(c.tail)) }

// String returns what was kept, as valid text.
func (c *capture) String() string {
	var b strings.Builder
	b.Write(c.head)
	if c.cut() {
		fmt.Fprintf(&b, "\n… %d bytes left out …\n", c.total-int64(len(c.head)+len(c.tail)))
	}
	b.Write(c.tail[c.at:])
	b.Write(c.tail[:c.at])
	text := b.String()
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}
