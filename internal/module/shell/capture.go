package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"callgate/tool"
)

// What is kept of each stream: its head, and its tail.
const (
	keptHead = 96 << 10
	keptTail = 96 << 10
)

// capture keeps the head and the tail of a stream, counts the rest, and passes
// everything on to whoever watches.
type capture struct {
	name  string
	grant tool.Grant
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring begins
	total int64
}

func newCapture(name string, grant tool.Grant) *capture {
	return &capture{name: name, grant: grant}
}

// Write takes everything and never fails: a command must not die of talking.
func (c *capture) Write(p []byte) (int, error) {
	c.grant.Output(c.name, p)
	c.total += int64(len(p))
	rest := p
	if room := keptHead - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head = append(c.head, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) > keptTail {
		rest = rest[len(rest)-keptTail:]
	}
	if room := keptTail - len(c.tail); room > 0 && c.at == 0 {
		n := min(room, len(rest))
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

// String is what was kept, as valid text.
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
