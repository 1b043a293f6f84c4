package lexical

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
)

// The written form of an index. Numbers are little-endian.
//
//	counts     of documents, entries, bytes of text, postings, words, names
//	entries    the length of each text, the texts, the term of each, where its postings begin
//	postings   the documents, then the impacts
//	documents  where the words of each begin, the words, their fields
//	names      the keys, the hashes as written, the documents, the kinds
const (
	counts       = 6
	maxFileCount = 1 << 30
	chunk        = 8 << 10 // numbers that are written or read at once
)

// Fingerprint tells apart the ways in which documents are analysed: if it is another
// one, so may be what Encode wrote of the same documents. It is that of an index of
// all words that the package knows of, in every field.
var Fingerprint = sync.OnceValue(func() [sha256.Size]byte {
	var docs []Doc
	for line := range strings.Lines(stopwordsFile + synonymsFile) {
		words := strings.Fields(line)
		docs = append(docs, Doc{
			Name: strings.Join(words, "_") + ".readTheHTTPServersFiles2", Short: line, Aliases: words, Tags: words,
			Description: line, Effects: words, Params: []Param{{line, line}},
		})
	}
	h := sha256.New()
	_ = Build(Options{}, docs).Encode(h) // a hash takes everything
	return [sha256.Size]byte(h.Sum(nil))
})

// ErrFormat says that what was read is not an index as Encode writes it.
var ErrFormat = errors.New("this is not an index of words")

// Encode writes the index, so that Decode need not analyse the documents again. A
// removed document keeps its number, and is empty in what is written.
func (x *Index) Encode(w io.Writer) error {
	s := &segment{docStart: []uint32{0}, start: []uint32{0}}
	switch {
	case len(x.parts) == 1 && x.live == x.size:
		s = x.parts[0].segment
	case len(x.parts) > 0:
		s = merge(x.parts, x.dead).segment
	}
	out := fileWriter{to: w}
	size := 0
	lengths := make([]uint32, len(s.text))
	for i, t := range s.text {
		lengths[i] = uint32(len(t))
		size += len(t)
	}
	out.numbers([]uint32{uint32(s.docs()), uint32(len(s.text)), uint32(size), uint32(len(s.posts)),
		uint32(len(s.docWords)), uint32(len(s.names))})
	out.numbers(lengths)
	for _, t := range s.text {
		out.bytes([]byte(t))
	}
	out.numbers(s.stem)
	out.numbers(s.start)
	out.each(len(s.posts), func(i int) uint32 { return s.posts[i].doc - s.base })
	out.each(len(s.posts), func(i int) uint32 { return math.Float32bits(s.posts[i].impact) })
	out.numbers(s.docStart)
	out.numbers(s.docWords)
	out.each(len(s.docMasks), func(i int) uint32 { return uint32(s.docMasks[i]) })
	out.each(len(s.names), func(i int) uint32 { return uint32(s.names[i].key) })
	out.each(len(s.names), func(i int) uint32 { return uint32(s.names[i].key >> 32) })
	out.each(len(s.names), func(i int) uint32 { return s.names[i].written })
	out.each(len(s.names), func(i int) uint32 { return s.names[i].doc - s.base })
	out.each(len(s.names), func(i int) uint32 { return uint32(s.names[i].kind) })
	return out.flush()
}

// fileWriter writes numbers in chunks, until the first error.
type fileWriter struct {
	to  io.Writer
	buf []byte
	err error
}

func (w *fileWriter) bytes(b []byte) {
	if w.buf = append(w.buf, b...); len(w.buf) >= 4*chunk {
		_ = w.flush()
	}
}

func (w *fileWriter) numbers(list []uint32) { w.each(len(list), func(i int) uint32 { return list[i] }) }

func (w *fileWriter) each(n int, number func(i int) uint32) {
	for i := range n {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, number(i))
		if len(w.buf) >= 4*chunk {
			_ = w.flush()
		}
	}
}

func (w *fileWriter) flush() error {
	if w.err == nil {
		_, w.err = w.to.Write(w.buf)
	}
	w.buf = w.buf[:0]
	return w.err
}

// Decode reads what Encode wrote, from a source of size bytes. It reads all of it
// and believes nothing: whatever the bytes are, it returns ErrFormat, the error of
// the source, or an index whose every method works.
func Decode(opts Options, r io.Reader, size int64) (*Index, error) {
	in := fileReader{from: r, left: size}
	n := in.numbers(counts)
	if in.err != nil {
		return nil, in.err
	}
	docs, entries, text, posts, words, names := int(n[0]), int(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5])
	s := &segment{}
	in.entries(s, entries, text)
	s.posts = make([]posting, in.room(posts, 8))
	in.some(len(s.posts), func(i int, numbers []byte) {
		for list := s.posts[i:]; len(numbers) >= 4; numbers, list = numbers[4:], list[1:] {
			list[0].doc = binary.LittleEndian.Uint32(numbers)
		}
	})
	in.some(len(s.posts), func(i int, numbers []byte) {
		for list := s.posts[i:]; len(numbers) >= 4; numbers, list = numbers[4:], list[1:] {
			list[0].impact = math.Float32frombits(binary.LittleEndian.Uint32(numbers))
		}
	})
	s.docStart = in.numbers(docs + 1)
	s.docWords = in.numbers(words)
	s.docMasks = make([]uint16, in.room(words, 4))
	in.each(len(s.docMasks), func(i int, n uint32) { s.docMasks[i] = uint16(n) })
	s.names = make([]nameKey, in.room(names, 20))
	in.each(len(s.names), func(i int, n uint32) { s.names[i].key = uint64(n) })
	in.each(len(s.names), func(i int, n uint32) { s.names[i].key |= uint64(n) << 32 })
	in.each(len(s.names), func(i int, n uint32) { s.names[i].written = n })
	in.each(len(s.names), func(i int, n uint32) { s.names[i].doc = n })
	in.each(len(s.names), func(i int, n uint32) { s.names[i].kind = nameKind(min(n, uint32(aliasName)+1)) })
	if in.err == nil && in.left != 0 {
		in.err = ErrFormat
	}
	if in.err != nil {
		return nil, in.err
	}
	return recalled(opts, s)
}

// recalled makes an index of a segment that was read.
func recalled(opts Options, s *segment) (*Index, error) {
	x := Build(opts, nil)
	if s.docs() == 0 {
		return x, nil
	}
	if !s.sound() {
		return nil, ErrFormat
	}
	var wg sync.WaitGroup
	var unique, whole bool
	var p part
	wg.Go(func() {
		unique = s.number()
		s.seal()
	})
	p, whole = checked(s)
	wg.Wait()
	if !unique || !whole {
		return nil, ErrFormat
	}
	x.size, x.live = s.docs(), s.docs()
	x.dead = make([]uint64, (x.size+63)/64)
	x.parts = []part{p}
	return x, nil
}

// fileReader reads numbers, until the first error.
type fileReader struct {
	from io.Reader
	left int64 // bytes that the source still has
	buf  [4 * chunk]byte
	err  error
}

// room is n, if the source can have n times width more bytes, and else 0: so nothing
// is allocated for numbers that are not there.
func (r *fileReader) room(n, width int) int {
	if r.err == nil && (n < 0 || n > maxFileCount || int64(n)*int64(width) > r.left) {
		r.err = ErrFormat
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *fileReader) numbers(n int) []uint32 {
	all := make([]uint32, r.room(n, 4))
	r.some(len(all), func(i int, numbers []byte) {
		for list := all[i:]; len(numbers) >= 4; numbers, list = numbers[4:], list[1:] {
			list[0] = binary.LittleEndian.Uint32(numbers)
		}
	})
	return all
}

func (r *fileReader) each(n int, set func(i int, n uint32)) {
	r.some(n, func(i int, numbers []byte) {
		for ; len(numbers) >= 4; numbers = numbers[4:] {
			set(i, binary.LittleEndian.Uint32(numbers))
			i++
		}
	})
}

// some reads n numbers, and hands on some of them at a time with the number of the first.
func (r *fileReader) some(n int, read func(i int, numbers []byte)) {
	for i := 0; i < n && r.err == nil; i += chunk {
		numbers := r.buf[:4*min(n-i, chunk)]
		if r.fill(numbers); r.err == nil {
			read(i, numbers)
		}
	}
}

func (r *fileReader) fill(b []byte) {
	if r.err != nil {
		return
	}
	if r.left -= int64(len(b)); r.left < 0 {
		r.err = ErrFormat
		return
	}
	if _, r.err = io.ReadFull(r.from, b); errors.Is(r.err, io.EOF) || errors.Is(r.err, io.ErrUnexpectedEOF) {
		r.err = ErrFormat
	}
}

// entries reads the texts, as parts of one string, and what belongs to each.
func (r *fileReader) entries(s *segment, entries, size int) {
	lengths := r.numbers(entries)
	joined := make([]byte, r.room(size, 1))
	r.fill(joined)
	s.stem = r.numbers(entries)
	s.start = r.numbers(entries + 1)
	if r.err != nil {
		return
	}
	all := string(joined)
	s.text = make([]string, len(lengths))
	for i, n := range lengths {
		if int64(n) > int64(len(all)) {
			r.err = ErrFormat
			return
		}
		s.text[i], all = all[:n], all[n:]
	}
	if all != "" {
		r.err = ErrFormat
	}
}
