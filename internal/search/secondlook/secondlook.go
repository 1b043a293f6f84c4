// Package secondlook compares a request with the few tools that were found
// first, by what one vector for a whole text cannot say.
//
// The vector of a text is a sum, in which a word of the request that no word of
// the tool answers is lost among the others. The second look asks two things:
//
//   - Home: does each word of the request find a home in the tool? The pieces of
//     the request are compared with those of the tool's name, of the beginning of
//     its description and of the names of its parameters; the best counts, and
//     the mean over the request, weighted as the model weighs pieces, is between
//     -1 and 1.
//   - Head: is the request near to the first sentence of the description? It says
//     what the tool does; what follows is how and when.
//
// The weights of the two were learnt on public sets of requests, each time
// without the set that was then measured; RATIONALE has the table.
package secondlook

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

// The weights of the two, beside the points of the first look.
const (
	homeWeight = 6
	headWeight = 4
)

// What is read. Longer texts gave no better order.
const (
	askedPieces       = 12 // of a request: those that count most
	descriptionPieces = 32
	paramPieces       = 16
	headPieces        = 32
	namePieces        = 24

	pieceBytes = 8 // of most texts a piece has fewer
)

// Tool is what the second look reads of a tool, computed when it is first needed.
type Tool struct{ read atomic.Pointer[reading] }

// reading is immutable.
type reading struct {
	pieces []int32 // each once
	head   []int8
	scale  float32 // of head
}

// Texts are the texts of a tool.
type Texts struct {
	Name, Description string
	Params            []string // the names of its parameters
}

// Request is a request that tools are compared with.
type Request struct {
	model  *embed.Static
	vector []float32
	pieces []asked
}

// asked is a piece of a request.
type asked struct {
	piece  int32
	weight float32 // its share of the request
}

// New reads a request. The vector is that of the whole request, by the same model, which must have
// short rows. Length is the number of its pieces.
func New(model *embed.Static, text string, vector []float32) (r *Request, length int) {
	all := model.Pieces(nil, text)
	r = &Request{model: model, vector: vector}
	for _, piece := range all {
		r.count(asked{piece, model.Length(piece)})
	}
	var sum float32
	for _, p := range r.pieces {
		sum += p.weight
	}
	for i := range r.pieces {
		r.pieces[i].weight /= max(sum, math.SmallestNonzeroFloat32)
	}
	return r, len(all)
}

// count keeps a piece if it is among those that count most. The first of equals stays.
func (r *Request) count(p asked) {
	if len(r.pieces) < askedPieces {
		r.pieces = append(r.pieces, p)
		return
	}
	least := 0
	for i := range r.pieces {
		if r.pieces[i].weight <= r.pieces[least].weight {
			least = i
		}
	}
	if p.weight > r.pieces[least].weight {
		r.pieces[least] = p
	}
}

// Add adds to each score what the second look finds in its tool: never less than nothing, so that
// tools that it did not look at stay below. Texts returns the texts of a tool that was never read.
func (r *Request) Add(scores []float32, tools []*Tool, texts func(i int) Texts) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.begin(r.model)
	for i, t := range tools {
		s.gather(t.reading(r.model, func() Texts { return texts(i) }))
	}
	homes := s.homes(r)
	for i, t := range s.read {
		found := homeWeight*homes[i] + headWeight*t.near(r.vector)
		scores[i] += max(found, 0)
	}
}

// Read reads a tool in advance, so that no search waits for it. Texts is asked if it was not read yet.
func (t *Tool) Read(model *embed.Static, texts func() Texts) { t.reading(model, texts) }

func (t *Tool) reading(model *embed.Static, texts func() Texts) *reading {
	known := t.read.Load()
	if known == nil {
		known = read(model, texts())
		t.read.Store(known) // whoever else reads it now reads the same
	}
	return known
}

// read computes what the second look needs of a tool.
func read(m *embed.Static, t Texts) *reading {
	r := &reading{}
	all := make([]int32, 0, namePieces+descriptionPieces+paramPieces)
	limited := func(text string, most int) []int32 {
		if text == "" || most <= 0 {
			return nil // and not the piece that stands for no piece
		}
		before := len(all)
		all = m.Pieces(all, clip(text, most*pieceBytes))
		all = all[:min(len(all), before+most)]
		return all[before:]
	}
	description := strings.TrimSpace(t.Description)
	head := firstSentence(description)
	if pieces := limited(head, headPieces); len(pieces) > 0 {
		r.head, r.scale = vector.Quantize(m.Sum(nil, pieces))
	}
	limited(description[len(head):], descriptionPieces-len(all))
	limited(t.Name, namePieces)
	limited(strings.Join(t.Params[:min(len(t.Params), paramPieces)], " "), paramPieces)
	slices.Sort(all)
	r.pieces = slices.Clone(slices.Compact(all))
	return r
}

// near is the cosine of a request and the first sentence.
func (t *reading) near(request []float32) float32 {
	if len(t.head) != len(request) { // it has no description
		return 0
	}
	var a, b, c, d float32
	for i := 0; i+3 < len(t.head); i += 4 {
		h, q := t.head[i:i+4:i+4], request[i:i+4:i+4]
		// The conversions round the products, so that every machine has the same.
		a += float32(float32(h[0]) * q[0])
		b += float32(float32(h[1]) * q[1])
		c += float32(float32(h[2]) * q[2])
		d += float32(float32(h[3]) * q[3])
	}
	return (a + b + (c + d)) * t.scale
}

// firstSentence is the beginning of a text up to the end of a sentence. Very short ones are no
// sentences but abbreviations.
func firstSentence(text string) string {
	const least, most = 10, 200
	for i, c := range text {
		if i <= least {
			continue
		}
		switch c {
		case '\n', '。', '！', '？':
			return text[:i]
		case '.', '!', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\t' || text[i+1] == '\r' {
				return text[:i]
			}
		}
	}
	return clip(text, most)
}

// clip returns the first bytes of a text, and no half character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}
