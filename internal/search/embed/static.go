package embed

import (
	"math"
	"slices"
	"sync"

	"callgate/internal/search/embed/tokenizer"
	"callgate/tool"
)

// Static is a static embedding model. It never changes once it is made, and
// any number of goroutines may use it at once: what a call needs to work with
// it takes from a pool.
type Static struct {
	id        string
	tokenizer *tokenizer.Tokenizer
	rows      rows
	mapping   []int32   // the row of each piece; nil: its number
	weights   []float32 // a factor for each piece; nil: 1
	pieces    sync.Pool // of *[]int32
}

// ID names the model and its version: two models with one ID give the same
// vectors for the same texts, on every machine, so a store of vectors can be
// kept for as long as its model's ID is the same.
func (m *Static) ID() string { return m.id }

// Dim is the length of the vectors.
func (m *Static) Dim() int { return m.rows.dim }

// Embed gives the vector of a text. It writes to dst, whose content is lost,
// and allocates nothing if that has room for Dim numbers.
//
// The vector has length one, always: a text without any piece counts as piece
// 0, and one whose rows add up to nothing, or to nothing finite, as the first
// axis. That holds also for a model whose config says normalize: false.
// Vectors are compared by their directions here, and a length would only mean
// that longer texts weigh more or less.
func (m *Static) Embed(dst []float32, text string) []float32 {
	dst = slices.Grow(dst[:0], m.rows.dim)[:m.rows.dim]
	clear(dst)
	pieces := m.pieces.Get().(*[]int32)
	*pieces = m.tokenizer.Append((*pieces)[:0], text)
	for _, piece := range *pieces {
		row, factor := int(piece), float32(1)
		if m.mapping != nil {
			row = int(m.mapping[piece])
		}
		if m.weights != nil {
			factor = m.weights[piece]
		}
		m.rows.add(dst, row, factor)
	}
	if cap(*pieces) <= maxKept {
		m.pieces.Put(pieces)
	}
	normalize(dst)
	return dst
}

// maxKept is the most pieces whose room is kept for reuse.
const maxKept = 64 << 10

// normalize brings v to length one. The sum is made in a fixed order and in
// float64, so that it is the same everywhere.
func normalize(v []float32) {
	var sums [4]float64
	for i, x := range v {
		square := float64(x) * float64(x) // exact: no fusing can change it
		sums[i&3] += square
	}
	length := math.Sqrt(sums[0] + sums[1] + (sums[2] + sums[3]))
	if !(length > 0) || math.IsInf(length, 1) {
		clear(v)
		v[0] = 1
		return
	}
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
}

// newStatic joins the parts of a model, and refuses parts that do not fit.
func newStatic(id, model, cutter string) (*Static, error) {
	m := &Static{id: id, pieces: sync.Pool{New: func() any { return new([]int32) }}}
	tensors, err := readTensors(model)
	if err != nil {
		return nil, err
	}
	if m.tokenizer, err = tokenizer.Parse(cutter); err != nil {
		return nil, err
	}
	m.rows, m.mapping, m.weights = tensors.rows, tensors.mapping, tensors.weights
	known := m.rows.count
	if m.mapping != nil {
		known = len(m.mapping)
	}
	if m.weights != nil {
		known = min(known, len(m.weights))
	}
	if m.tokenizer.Size() > known {
		return nil, tool.Errorf(op, tool.Invalid, "tokenizer.json knows %d pieces and model.safetensors has only %d", m.tokenizer.Size(), known).
			WithHint("the two files are not of one model")
	}
	return m, nil
}
