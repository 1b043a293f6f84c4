package textfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// Limits of a page.
const (
	DefaultLines = 2_000
	MaxLines     = 20_000
	MaxBytes     = 80 << 10 // of all lines, with their numbers
	MaxLine      = 2_000    // bytes of one line
)

const (
	maxCounted = 4 << 20 // bytes that are read only to count lines
	blockSize  = 64 << 10
)

// Page is some lines of a text.
type Page struct {
	Text  []byte
	First int  // number of the first line; 0: not counted
	Lines int  // number of lines
	Cut   int  // number of lines that were too long, and cut
	Total int  // lines of the whole text; -1: not counted
	More  bool // lines follow
	Late  bool // of the last lines, the first ones did not fit
}

// Next is the number of the line after the page.
func (p Page) Next() int { return p.First + p.Lines }

// PastEndError is the error for a first line after the end of the text.
type PastEndError struct{ Lines int }

// Error tells the number of lines.
func (e PastEndError) Error() string { return fmt.Sprintf("the text has %d lines", e.Lines) }

// From reads limit lines from the line first on, and with numbers writes its
// number before each. It reads no more than it must, except to count the lines of
// a short rest.
func From(ctx context.Context, src *io.SectionReader, first, limit int, numbers bool) (Page, error) {
	r := newLineReader(ctx, src)
	for n := 1; n < first; n++ {
		if _, _, err := r.next(); err == io.EOF {
			return Page{}, PastEndError{n - 1}
		} else if err != nil {
			return Page{}, err
		}
	}
	p, err := r.take(first, limit, MaxBytes, numbers)
	if err != nil {
		return Page{}, err
	}
	if p.Lines == 0 && first > 1 {
		return Page{}, PastEndError{first - 1}
	}
	p.Total = -1
	rest := src.Size() - r.read
	p.More = rest > 0
	if rest <= maxCounted {
		n, ended, err := newlines(src, r.read, src.Size())
		if err != nil {
			return Page{}, err
		}
		if !ended {
			n++
		}
		p.Total = first - 1 + p.Lines + n
	}
	return p, nil
}

// Last reads the last n lines, from the end backwards. It numbers them only if the
// text before them is short enough to count its lines.
func Last(ctx context.Context, src *io.SectionReader, n int, numbers bool) (Page, error) {
	start, late, err := startOfLast(src, n, numbers)
	if err != nil {
		return Page{}, err
	}
	before := -1
	if start <= maxCounted {
		if before, _, err = newlines(src, 0, start); err != nil {
			return Page{}, err
		}
	}
	r := newLineReader(ctx, io.NewSectionReader(src, start, src.Size()-start))
	p, err := r.take(before+1, n, math.MaxInt64, numbers && before >= 0)
	if err != nil {
		return Page{}, err
	}
	p.Late, p.Total = late, -1
	if before >= 0 {
		p.Total = before + p.Lines
	}
	return p, nil
}

// startOfLast finds the start of the last n lines. It goes back no further than
// what fits in MaxBytes, with numbers or without; late reports that it found fewer
// lines.
func startOfLast(src *io.SectionReader, n int, numbers bool) (start int64, late bool, err error) {
	prefix := int64(0)
	if numbers {
		prefix = numberWidth
	}
	block := make([]byte, blockSize)
	end := src.Size()
	floor := max(0, end-MaxBytes)
	edge := end // start of the earliest complete line so far
	taken := int64(0)
	for pos := end; pos > floor; {
		size := min(int64(len(block)), pos-floor)
		pos -= size
		if _, err := src.ReadAt(block[:size], pos); err != nil && err != io.EOF {
			return 0, false, err
		}
		for i := bytes.LastIndexByte(block[:size], '\n'); i >= 0; i = bytes.LastIndexByte(block[:i], '\n') {
			at := pos + int64(i) + 1
			if at == end {
				continue // no line begins after the newline at the end
			}
			if taken += prefix; end-at+taken > MaxBytes && edge < end {
				return edge, true, nil
			}
			edge = at
			if n--; n == 0 {
				return edge, false, nil
			}
		}
	}
	switch {
	case floor == 0:
		return 0, false, nil
	case edge == end:
		return floor, true, nil // one line, longer than MaxBytes
	default:
		return edge, true, nil
	}
}

// newlines counts the newlines between two offsets, and reports whether the last
// byte is one, which is true of an empty text.
func newlines(src io.ReaderAt, from, to int64) (n int, ended bool, err error) {
	if from >= to {
		return 0, true, nil
	}
	block := make([]byte, min(blockSize, to-from))
	for ended = true; from < to; {
		got, err := src.ReadAt(block[:min(int64(len(block)), to-from)], from)
		if got == 0 {
			if err == io.EOF {
				break
			}
			return 0, false, err
		}
		n += bytes.Count(block[:got], []byte("\n"))
		ended = block[got-1] == '\n'
		from += int64(got)
	}
	return n, ended, nil
}

// lineReader reads lines of any length and counts the bytes it read.
type lineReader struct {
	ctx  context.Context
	r    *bufio.Reader
	read int64
	due  int64 // the offset at which it checks the context next
}

func newLineReader(ctx context.Context, src *io.SectionReader) *lineReader {
	size := max(16, min(blockSize, src.Size()+1))
	return &lineReader{ctx: ctx, r: bufio.NewReaderSize(src, int(size))}
}

// next reads to the end of a line and returns its first bytes, valid until the
// next call, and its length. At the end of the text it returns io.EOF.
func (l *lineReader) next() (line []byte, size int64, err error) {
	part, err := l.r.ReadSlice('\n')
	line, size = part, int64(len(part))
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(part[:min(len(part), MaxLine+2)])
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		if err := l.ctx.Err(); err != nil {
			return nil, 0, err
		}
		part, err = l.r.ReadSlice('\n')
		size += int64(len(part))
	}
	if l.read += size; l.read >= l.due {
		l.due = l.read + 1<<20
		if err := l.ctx.Err(); err != nil {
			return nil, 0, err
		}
	}
	if err == io.EOF && size > 0 {
		err = nil
	}
	return line, size, err
}

// numberWidth is the length of a line's number with the tab after it. A longer
// number takes more.
const numberWidth = 7

// take reads up to limit lines, and none after room bytes. first is the number of the
// first.
func (l *lineReader) take(first, limit int, room int64, numbers bool) (Page, error) {
	p := Page{First: first}
	for ; p.Lines < limit && int64(len(p.Text)) < room; p.Lines++ {
		line, size, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Page{}, err
		}
		if numbers {
			p.Text = fmt.Appendf(p.Text, "%6d\t", first+p.Lines)
		}
		if size <= MaxLine+2 { // the line ending is not counted
			p.Text = append(p.Text, line...)
			continue
		}
		p.Cut++
		p.Text = append(p.Text, Cut(line, MaxLine)...)
		p.Text = fmt.Appendf(p.Text, "… [cut: the line has %d bytes]\n", size)
	}
	return p, nil
}
