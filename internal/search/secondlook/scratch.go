package secondlook

import (
	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

// scratch holds the buffers of one second look. The pieces of all its tools are
// gathered, each once, so that a piece of the request is compared with all of
// them in one go.
type scratch struct {
	model *embed.Static
	read  []*reading
	at    []uint32  // by piece: the look that gathered it, and its place in rows
	look  uint32    // the number of this look
	rows  []int8    // short rows, one after the other
	unit  []float32 // 1 / the length of each
	place []uint16  // of each tool's pieces, in their order
	query [embed.ShortDim]int16
	dots  []int32
	near  []int32 // cosines, in parts of one
	home  []float32
}

const (
	placeBits = 16
	// one is a cosine of one. Cosines are compared as integers, which takes a third of the time.
	one = 1 << 24
	// maxGathered bounds the distinct pieces of one look: a place has 16 bits. A tool has a hundred
	// pieces at most, so fifty of them never reach it.
	maxGathered = 1<<placeBits - 4
)

// begin begins a look with a model.
func (s *scratch) begin(model *embed.Static) {
	if s.look++; len(s.at) < model.Size() || s.look == 1<<placeBits {
		s.at, s.look = make([]uint32, model.Size()), 1
	}
	s.model, s.read, s.rows, s.unit, s.place = model, s.read[:0], s.rows[:0], s.unit[:0], s.place[:0]
}

// gather adds the pieces of a tool.
func (s *scratch) gather(t *reading) {
	units := s.model.ShortUnits()
	s.read = append(s.read, t)
	for _, piece := range t.pieces {
		if s.at[piece]>>placeBits != s.look {
			if len(s.unit) == maxGathered {
				s.place = append(s.place, maxGathered-1)
				continue
			}
			s.at[piece] = s.look<<placeBits | uint32(len(s.unit))
			s.rows = append(s.rows, s.model.ShortRow(piece)...)
			s.unit = append(s.unit, units[piece])
		}
		s.place = append(s.place, uint16(s.at[piece]))
	}
}

// homes returns for each tool how well the pieces of a request find a home in it.
func (s *scratch) homes(r *Request) []float32 {
	s.home = append(s.home[:0], make([]float32, len(s.read))...)
	for len(s.unit)%4 != 0 {
		s.rows = append(s.rows, make([]int8, embed.ShortDim)...)
		s.unit = append(s.unit, 0)
	}
	if len(s.unit) == 0 {
		return s.home
	}
	s.dots = append(s.dots[:0], make([]int32, len(s.unit))...)
	s.near = append(s.near[:0], make([]int32, len(s.unit))...)
	for _, p := range r.pieces {
		row := r.model.ShortRow(p.piece)
		for i, x := range row {
			s.query[i] = int16(x)
		}
		vector.Dots(s.dots, s.rows, s.query[:])
		length := r.model.ShortUnits()[p.piece] * one
		for i, dot := range s.dots {
			s.near[i] = int32(float32(dot) * (s.unit[i] * length))
		}
		left := s.place
		for i, t := range s.read {
			if len(t.pieces) == 0 {
				continue
			}
			best := s.near[left[0]]
			for _, at := range left[1:len(t.pieces)] {
				best = max(best, s.near[at])
			}
			left = left[len(t.pieces):]
			s.home[i] += float32(p.weight * (float32(best) / one))
		}
	}
	return s.home
}
