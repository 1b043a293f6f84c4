package lexical

import (
	"slices"
	"strings"

	"callgate/internal/search/lexical/analysis"
)

// builder makes a segment, one document after the other. Words are numbered in the
// order of their first occurrence, and looked up as bytes, so that a known word
// costs one lookup and no allocation.
type builder struct {
	split analysis.Splitter
	stops stopwords
	seg   *segment
	stop  []bool // by entry

	// The document being added. A stamped value belongs to this document if its
	// stamp is the current one.
	stamp uint32
	words []stampedValue // by entry, as a word: value is its place in docWords
	terms []stampedValue // by entry, as a term: value is its place in sums
	sums  []termSum
	field []uint32 // words of the field being read

	found []termSum // of all documents, in their order
	docs  []uint32  // the number of those of the first n documents
}

type stampedValue struct{ stamp, value uint32 }

// termSum is the impact of a term in a document over all fields.
type termSum struct {
	term  uint32
	value float32
}

const (
	unstemmed   = ^uint32(0)      // an entry that is only a term so far
	joinedWord  = uint32(1) << 31 // marks a joined word in a field: it adds nothing to its length
	wordsPerDoc = 32              // an estimate
)

func newBuilder(v *vocabulary, base, docs int) *builder {
	return &builder{
		stops: v.stops,
		seg: &segment{
			base: uint32(base), ids: make(map[string]uint32, 4*docs), docStart: []uint32{0},
			docWords: make([]uint32, 0, docs*wordsPerDoc), docMasks: make([]uint16, 0, docs*wordsPerDoc),
		},
		found: make([]termSum, 0, docs*wordsPerDoc),
	}
}

func (b *builder) add(d *Doc) {
	b.stamp++
	moduleName, actionName := cutName(d.Name)
	b.names(d, moduleName, actionName)
	b.read(action, actionName)
	b.read(module, moduleName)
	b.read(short, d.Short)
	b.read(aliases, d.Aliases...)
	b.read(tags, d.Tags...)
	b.read(description, d.Description)
	b.read(effects, d.Effects...)
	for _, p := range d.Params {
		b.cut(paramNames, p.Name)
	}
	b.weigh(paramNames)
	for _, p := range d.Params {
		b.cut(paramTexts, p.Text)
	}
	b.weigh(paramTexts)
	b.found = append(b.found, b.sums...)
	b.sums = b.sums[:0]
	b.docs = append(b.docs, uint32(len(b.found)))
	b.seg.docStart = append(b.seg.docStart, uint32(len(b.seg.docWords)))
}

// cutName splits a dotted name at its last dot.
func cutName(name string) (module, action string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

func (b *builder) read(f field, texts ...string) {
	for _, text := range texts {
		b.cut(f, text)
	}
	b.weigh(f)
}

// cut adds the words of a text to the field being read.
func (b *builder) cut(f field, text string) {
	b.split.Split(text, f.isName())
	for _, p := range b.split.Tokens {
		id := b.intern(b.split.Text(p))
		if b.stop[id] && (f == description || f == paramTexts) {
			continue
		}
		if p.Form == analysis.Joined {
			id |= joinedWord
		}
		b.field = append(b.field, id)
	}
}

// weigh ends a field: each of its words has the same weight.
func (b *builder) weigh(f field) {
	length := 0
	for _, id := range b.field {
		if id&joinedWord == 0 {
			length++
		}
	}
	w := weights.fields[f]
	value := w.weight / (1 - w.b + w.b*float32(length)/w.pivot)
	for _, id := range b.field {
		id &^= joinedWord
		word := &b.words[id]
		if word.stamp != b.stamp {
			*word = stampedValue{b.stamp, uint32(len(b.seg.docWords))}
			b.seg.docWords = append(b.seg.docWords, id)
			b.seg.docMasks = append(b.seg.docMasks, 0)
		}
		b.seg.docMasks[word.value] |= 1 << f
		t := b.seg.stem[id]
		term := &b.terms[t]
		if term.stamp != b.stamp {
			*term = stampedValue{b.stamp, uint32(len(b.sums))}
			b.sums = append(b.sums, termSum{term: t})
		}
		b.sums[term.value].value += value
	}
	b.field = b.field[:0]
}

// intern returns the entry of a word.
func (b *builder) intern(word []byte) uint32 {
	id, known := b.seg.ids[string(word)]
	if !known {
		id = b.entry(string(word))
	}
	if b.seg.stem[id] == unstemmed {
		term := analysis.Stem(b.seg.text[id])
		t, known := b.seg.ids[term]
		if !known {
			t = b.entry(term)
		}
		b.seg.stem[id] = t
	}
	return id
}

func (b *builder) entry(text string) uint32 {
	id := uint32(len(b.seg.text))
	b.seg.ids[text] = id
	b.seg.text = append(b.seg.text, text)
	b.seg.stem = append(b.seg.stem, unstemmed)
	b.stop = append(b.stop, b.stops.certain(text))
	b.words = append(b.words, stampedValue{})
	b.terms = append(b.terms, stampedValue{})
	return id
}

// names stores the names of the document.
func (b *builder) names(d *Doc, moduleOf, actionOf string) {
	b.name(wholeName, d.Name)
	if moduleOf != "" {
		b.name(actionName, actionOf)
	}
	b.name(actionName, d.Short)
	for _, a := range d.Aliases {
		b.name(aliasName, a)
	}
}

func (b *builder) name(kind nameKind, name string) {
	var h nameHash
	b.split.Split(name, false)
	for _, p := range b.split.Tokens {
		if p.Form != analysis.Joined {
			id := b.intern(b.split.Text(p))
			h.add(b.seg.text[id], b.seg.text[b.seg.stem[id]], b.stop[id])
		}
	}
	if h.words > 0 {
		doc := b.seg.base + uint32(b.seg.docs())
		b.seg.names = append(b.seg.names, nameKey{h.key(), h.writing(), doc, kind})
	}
}

// finish sorts the sums by term and returns the segment.
func (b *builder) finish() *segment {
	s := b.seg
	s.start = make([]uint32, len(s.text)+1)
	for _, f := range b.found {
		s.start[f.term+1]++
	}
	for i := range s.text {
		s.start[i+1] += s.start[i]
	}
	at := slices.Clone(s.start)
	s.posts = make([]posting, len(b.found))
	lo := uint32(0)
	for n, hi := range b.docs {
		for _, f := range b.found[lo:hi] {
			s.posts[at[f.term]] = posting{s.base + uint32(n), f.value / (weights.k1 + f.value)}
			at[f.term]++
		}
		lo = hi
	}
	s.docWords, s.docMasks = slices.Clone(s.docWords), slices.Clone(s.docMasks)
	s.seal()
	return s
}
