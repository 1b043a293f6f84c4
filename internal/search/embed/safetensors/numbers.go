package safetensors

import (
	"math"
	"unsafe"

	"callgate/tool"
)

// Int8s returns the data of an I8 tensor as numbers, without copying it. They
// must not be written to: they may be in the program's read-only memory, where a
// write ends the process.
func (t Tensor) Int8s() ([]int8, error) {
	if t.Type != I8 {
		return nil, tool.Errorf("safetensors.Int8s", tool.Invalid, "the tensor is %s, not I8", t.Type)
	}
	if len(t.Data) == 0 {
		return nil, nil
	}
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(t.Data))), len(t.Data)), nil
}

// Floats copies the numbers of a tensor of floats or of I8.
func (t Tensor) Floats() ([]float32, error) {
	size := t.Type.size()
	switch t.Type {
	case I8, F16, BF16, F32, F64:
	default:
		return nil, tool.Errorf("safetensors.Floats", tool.Invalid,
			"a tensor of type %s is not read as floats; I8, F16, BF16, F32 and F64 are", t.Type)
	}
	out := make([]float32, len(t.Data)/size)
	for i := range out {
		out[i] = t.Type.Float(t.Data[i*size:])
	}
	return out, nil
}

// Float reads one float at the start of data, which holds at least one. For a
// type that Floats does not read, it returns zero.
func (t Type) Float(data string) float32 {
	switch t {
	case F32:
		return math.Float32frombits(uint32At(data))
	case F16:
		return halfFloat(uint16At(data))
	case BF16:
		return math.Float32frombits(uint32(uint16At(data)) << 16)
	case F64:
		return float32(math.Float64frombits(uint64At(data)))
	case I8:
		return float32(int8(data[0]))
	}
	return 0
}

// Ints copies the numbers of an I32 or I64 tensor. It fails if a number is not
// between 0 and limit-1: the numbers are positions in a list of that length.
func (t Tensor) Ints(limit int) ([]int32, error) {
	const op = "safetensors.Ints"
	if t.Type != I32 && t.Type != I64 {
		return nil, tool.Errorf(op, tool.Invalid, "a tensor of type %s is not read as positions; I32 and I64 are", t.Type)
	}
	size := t.Type.size()
	out := make([]int32, len(t.Data)/size)
	for i := range out {
		n := int64(int32(uint32At(t.Data[i*size:])))
		if t.Type == I64 {
			n = int64(uint64At(t.Data[i*size:]))
		}
		if n < 0 || n >= int64(limit) || n > math.MaxInt32 {
			return nil, tool.Errorf(op, tool.Invalid, "number %d is %d, outside 0 to %d", i, n, limit-1)
		}
		out[i] = int32(n)
	}
	return out, nil
}

// halfFloat converts an IEEE half. Shifting the exponent by a multiplication also
// converts subnormal numbers; infinity and NaN are converted apart.
func halfFloat(h uint16) float32 {
	magnitude := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 {
		return math.Float32frombits(uint32(h&0x8000)<<16 | 0x7f800000 | magnitude)
	}
	const rebias = 0x1p112
	return math.Float32frombits(math.Float32bits(math.Float32frombits(magnitude)*rebias) | uint32(h&0x8000)<<16)
}

func uint16At(s string) uint16 { return uint16(s[0]) | uint16(s[1])<<8 }

func uint32At(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func uint64At(s string) uint64 { return uint64(uint32At(s)) | uint64(uint32At(s[4:]))<<32 }
