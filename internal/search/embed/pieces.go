package embed

import (
	"math"

	"callgate/internal/search/embed/vector"
)

// ShortDim is the length of the short row of a piece. The built-in model was
// trained so that the first numbers of a row stand alone.
const ShortDim = 64

// HasShortRows reports whether the model has short rows: it is the built-in one.
func (m *Static) HasShortRows() bool {
	return m.id == builtinID && m.rows.int8s != nil && m.rows.dim >= ShortDim
}

// Size is the number of pieces that the model knows.
func (m *Static) Size() int { return m.tokenizer.Size() }

// Pieces appends the pieces of a text to dst.
func (m *Static) Pieces(dst []int32, text string) []int32 { return m.tokenizer.Append(dst, text) }

// ShortRow is the short row of a piece, of a model that has them. Only its direction counts.
func (m *Static) ShortRow(piece int32) []int8 {
	from := int(piece) * m.rows.dim
	return m.rows.int8s[from : from+ShortDim : from+ShortDim]
}

// ShortUnits are the factors that bring each piece's short row to length one, 0 for a row of zeros, of a
// model that has short rows. The first call computes them, which takes some milliseconds.
func (m *Static) ShortUnits() []float32 {
	m.unitsOnce.Do(func() {
		m.units = make([]float32, m.rows.count)
		for piece := range m.units {
			if sum := vector.SquareSum(m.ShortRow(int32(piece))); sum > 0 {
				m.units[piece] = float32(1 / math.Sqrt(float64(sum)))
			}
		}
	})
	return m.units
}

// Length is the length of a piece's row, of a model with short rows: what the piece counts in a text.
func (m *Static) Length(piece int32) float32 {
	from := int(piece) * m.rows.dim
	length := math.Sqrt(float64(vector.SquareSum(m.rows.int8s[from : from+m.rows.dim])))
	if m.rows.scales != nil {
		length *= float64(m.rows.scales[piece])
	}
	return float32(length)
}
