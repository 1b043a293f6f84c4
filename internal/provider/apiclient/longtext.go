package apiclient

import "strings"

// chunkSize is the size of the pieces of a long text.
const chunkSize = 64 << 10

// longText is a text that grows at its end. It is kept in pieces: one piece that grew
// would be there several times while it is copied, and a stream that has no end would
// take a multiple of its limit.
type longText struct {
	full [][]byte
	last []byte
	size int
}

// add adds to the end.
func (t *longText) add(s string) {
	t.size += len(s)
	for len(s) > 0 {
		if len(t.last) >= chunkSize {
			t.full, t.last = append(t.full, t.last), make([]byte, 0, chunkSize)
		}
		n := min(len(s), chunkSize-len(t.last))
		t.last = append(t.last, s[:n]...)
		s = s[n:]
	}
}

// text returns the whole.
func (t *longText) text() string { return t.start(t.size) }

// start returns the first n bytes, or all of a shorter text.
func (t *longText) start(n int) string {
	var b strings.Builder
	b.Grow(min(n, t.size))
	for _, piece := range append(t.full[:len(t.full):len(t.full)], t.last) {
		b.Write(piece[:min(len(piece), n-b.Len())])
	}
	return b.String()
}

// endsWith reports whether the text's last byte that is no white space is c.
func (t *longText) endsWith(c byte) bool {
	for i := len(t.last) - 1; i >= 0; i-- {
		switch t.last[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return t.last[i] == c
		}
	}
	return false
}
