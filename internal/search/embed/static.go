package embed

import (
	"math"
	"slices"
	"sync"

	"callgate/internal/search/embed/tokenizer"
	"callgate/tool"
)

// Static is a static embedding model. It does not change, and any number of
// goroutines may use it: buffers come from a pool.
type Static struct {
	id        string
	tokenizer *tokenizer.Tokenizer
	rows      rows
	mapping   []int32   // the row of each piece; nil: its number
	weights   []float32 // a factor for each piece; nil: 1
	pieces    sync.Pool // of *[]int32

	unitsOnce sync.Once
	units     []float32 // see ShortUnits
}

// ID identifies the model and its version. Models with the same ID give the same
// vectors for the same texts, on every machine, so stored vectors are valid as
// long as the ID is the same.
func (m *Static) ID() string { return m.id }

// Dim is the dimension of the vectors.
func (m *Static) Dim() int { return m.rows.dim }

// Embed computes the vector of a text. It overwrites dst, and allocates nothing
// if dst has the capacity for Dim numbers.
//
// The vector always has length one. A text without pieces counts as piece 0. A
// sum of rows that is zero or not finite counts as the first axis. This also
// holds for a model whose config says normalize: false: vectors are compared by
// their directions, and a length would only weigh longer texts more or less.
func (m *Static) Embed(dst []float32, text string) []float32 {
	pieces := m.pieces.Get().(*[]int32)
	*pieces = m.tokenizer.Append((*pieces)[:0], text)
	dst = m.Sum(dst, *pieces)
	if cap(*pieces) <= maxKept {
		m.pieces.Put(pieces)
	}
	return dst
}

// Sum computes the vector of the text that consists of some pieces, as Embed does.
func (m *Static) Sum(dst []float32, pieces []int32) []float32 {
	dst = slices.Grow(dst[:0], m.rows.dim)[:m.rows.dim]
	clear(dst)
	for _, piece := range pieces {
		row, factor := int(piece), float32(1)
		if m.mapping != nil {
			row = int(m.mapping[piece])
		}
		if m.weights != nil {
			factor = m.weights[piece]
		}
		m.rows.add(dst, row, factor)
	}
	normalize(dst)
	return dst
}

// maxKept limits the size of the buffers that are kept for reuse, in pieces.
const maxKept = 64 << 10

// normalize scales v to length one. The sum is computed in float64 and in a
// fixed order, so that it is the same on every machine.
func normalize(v []float32) {
	var sums [4]float64
	for i, x := range v {
		square := float64(x) * float64(x) // exact, so that a fused multiply-add does not change it
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

// newStatic makes a model of its files, and refuses files that do not fit
// together.
func newStatic(id, model, tokenizerText string) (*Static, error) {
	m := &Static{id: id, pieces: sync.Pool{New: func() any { return new([]int32) }}}
	tensors, err := readTensors(model)
	if err != nil {
		return nil, err
	}
	if m.tokenizer, err = tokenizer.Parse(tokenizerText); err != nil {
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
		return nil, tool.Errorf(op, tool.Invalid, "tokenizer.json has %d pieces and model.safetensors only %d",
			m.tokenizer.Size(), known).WithHint("the two files belong to different models")
	}
	return m, nil
}
