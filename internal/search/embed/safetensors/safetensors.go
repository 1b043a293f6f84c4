// Package safetensors reads the tensors of a .safetensors file.
//
// A file consists of the length of its header in eight bytes, the header (a JSON
// object with the type, shape and position of each tensor), and the data. The
// file is a string, which cannot be written to: a file that is embedded in the
// program is used in place and never copied to the heap.
//
// # Law
//
// The header is not trusted. [Parse] checks every length, position and product
// against the size of the file before it returns a tensor. So a tensor's Data
// always has exactly the length that its shape and type give, and only the size
// of a file decides how much memory is allocated.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"callgate/tool"
)

// Type is the type of a tensor's numbers, which are little-endian.
type Type string

// The types that a static model has. A file may hold tensors of other types;
// reading their numbers fails.
const (
	I8   Type = "I8"
	I32  Type = "I32"
	I64  Type = "I64"
	F16  Type = "F16"
	BF16 Type = "BF16"
	F32  Type = "F32"
	F64  Type = "F64"
)

// Tensor is one tensor of a file. It shares the memory of the file.
type Tensor struct {
	Type  Type
	Shape []int
	Data  string
}

// File is a file whose header is valid.
type File struct{ tensors map[string]Tensor }

// maxHeader limits the length of the header. A static model has a handful of
// tensors, with some hundred bytes each.
const maxHeader = 1 << 20

const op = "safetensors.Parse"

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Invalid, format, args...).
		WithHint("the file is damaged or is not safetensors: fetch it again")
}

// Parse checks a file. The tensors of the result share its memory.
func Parse(file string) (*File, error) {
	if len(file) < 8 {
		return nil, refuse("a file of %d bytes has no header", len(file))
	}
	length := binary.LittleEndian.Uint64([]byte(file[:8]))
	rest := file[8:]
	if length > uint64(len(rest)) || length > maxHeader {
		return nil, refuse("the header claims %d bytes, where the file has %d and at most %d are read",
			length, len(rest), maxHeader)
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal([]byte(rest[:length]), &header); err != nil {
		return nil, refuse("the header is not a JSON object: %w", err)
	}
	data := rest[length:]
	f := &File{make(map[string]Tensor, len(header))}
	places := make([]place, 0, len(header))
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		at, t, err := parseTensor(name, raw, data)
		if err != nil {
			return nil, err
		}
		f.tensors[name] = t
		places = append(places, at)
	}
	if err := checkApart(places); err != nil {
		return nil, err
	}
	return f, nil
}

// place is the position of a tensor in the data.
type place struct {
	name       string
	begin, end uint64
}

func parseTensor(name string, raw json.RawMessage, data string) (place, Tensor, error) {
	var entry struct {
		Type    Type     `json:"dtype"`
		Shape   []uint64 `json:"shape"`
		Offsets []uint64 `json:"data_offsets"`
	}
	name = tool.Truncate(name)
	if err := json.Unmarshal(raw, &entry); err != nil {
		return place{}, Tensor{}, refuse("the header's entry for tensor %q has another form: %w", name, err)
	}
	size := entry.Type.size()
	if size == 0 {
		return place{}, Tensor{}, refuse("tensor %q has the unknown type %q", name, tool.Truncate(string(entry.Type)))
	}
	if len(entry.Offsets) != 2 {
		return place{}, Tensor{}, refuse("tensor %q has %d data offsets instead of 2", name, len(entry.Offsets))
	}
	begin, end := entry.Offsets[0], entry.Offsets[1]
	if begin > end || end > uint64(len(data)) {
		return place{}, Tensor{}, refuse("tensor %q lies at bytes %d to %d of %d", name, begin, end, len(data))
	}
	shape := make([]int, len(entry.Shape))
	want := uint64(size)
	for i, n := range entry.Shape {
		over, product := bits.Mul64(want, n)
		if over != 0 || n > math.MaxInt {
			return place{}, Tensor{}, refuse("tensor %q has a shape %s too large for any file",
				name, tool.Truncate(fmt.Sprint(entry.Shape)))
		}
		want, shape[i] = product, int(n)
	}
	if want != end-begin {
		return place{}, Tensor{}, refuse("tensor %q of shape %s and type %s needs %d bytes and has %d",
			name, tool.Truncate(fmt.Sprint(entry.Shape)), entry.Type, want, end-begin)
	}
	return place{name, begin, end}, Tensor{entry.Type, shape, data[begin:end]}, nil
}

// checkApart refuses tensors that share bytes.
func checkApart(places []place) error {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	for i := 1; i < len(places); i++ {
		if places[i].begin < places[i-1].end {
			return refuse("tensors %q and %q overlap", places[i-1].name, places[i].name)
		}
	}
	return nil
}

// Tensor returns a tensor by its name.
func (f *File) Tensor(name string) (Tensor, bool) {
	t, ok := f.tensors[name]
	return t, ok
}

// size is the number of bytes of one number, 0 for an unknown type.
func (t Type) size() int {
	switch t {
	case I8, "U8", "BOOL", "F8_E4M3", "F8_E5M2":
		return 1
	case F16, BF16, "I16", "U16":
		return 2
	case F32, I32, "U32":
		return 4
	case F64, I64, "U64":
		return 8
	}
	return 0
}
