package embed

import (
	"math"

	"callgate/internal/search/embed/safetensors"
	"callgate/internal/search/embed/vector"
	"callgate/tool"
)

const op = "embed.Open"

// maxDim limits the length of a row.
const maxDim = 1 << 14

// rows is the table of a model, in the type of its file. Int8 rows are used in
// place; rows of other types are converted number by number.
type rows struct {
	count, dim int
	int8s      []int8           // for I8
	scales     []float32        // a factor for each row; nil: 1
	data       string           // for the other types
	kind       safetensors.Type // the type of data
}

// add adds factor × a row to sum.
func (r *rows) add(sum []float32, row int, factor float32) {
	if r.scales != nil {
		factor *= r.scales[row]
	}
	if r.int8s != nil {
		vector.AddScaled(sum, r.int8s[row*r.dim:(row+1)*r.dim], factor)
		return
	}
	size := len(r.data) / (r.count * r.dim)
	data := r.data[row*r.dim*size : (row+1)*r.dim*size]
	for i := range sum {
		// The conversion prevents a fused multiply-add, which would round once.
		sum[i] += float32(factor * r.kind.Float(data[i*size:]))
	}
}

// tensors is the content of a model file.
type tensors struct {
	rows    rows
	mapping []int32
	weights []float32
}

func readTensors(text string) (t tensors, err error) {
	f, err := safetensors.Parse(text)
	if err != nil {
		return t, err
	}
	table, ok := f.Tensor("embeddings")
	if !ok {
		table, ok = f.Tensor("embedding.weight") // as sentence-transformers writes it
	}
	if !ok {
		return t, tool.Errorf(op, tool.Invalid, "model.safetensors has no tensor named embeddings").
			WithHint("use a static model in the layout of Model2Vec")
	}
	if t.rows, err = newRows(table); err != nil {
		return t, err
	}
	if t.rows.scales, err = factors(f, "scales", t.rows.count); err != nil {
		return t, err
	}
	if t.weights, err = factors(f, "weights", 0); err != nil {
		return t, err
	}
	if mapping, ok := f.Tensor("mapping"); ok {
		if t.mapping, err = mapping.Ints(t.rows.count); err != nil {
			return t, tool.Errorf(op, tool.Invalid, "the tensor mapping is wrong: %w", err)
		}
	}
	return t, nil
}

func newRows(table safetensors.Tensor) (r rows, err error) {
	if len(table.Shape) != 2 || table.Shape[0] == 0 || table.Shape[1] == 0 || table.Shape[1] > maxDim {
		return r, tool.Errorf(op, tool.Invalid,
			"the tensor embeddings has %d dimensions instead of rows and at most %d columns", len(table.Shape), maxDim)
	}
	r = rows{count: table.Shape[0], dim: table.Shape[1], kind: table.Type}
	switch table.Type {
	case safetensors.I8:
		r.int8s, err = table.Int8s()
	case safetensors.F16, safetensors.BF16, safetensors.F32:
		r.data = table.Data
	default:
		err = tool.Errorf(op, tool.Invalid, "the tensor embeddings is of type %s", table.Type).
			WithHint("I8, F16, BF16 and F32 are read")
	}
	return r, err
}

// factors reads an optional list of finite factors. Unless n is 0, there must be n.
func factors(f *safetensors.File, name string, n int) ([]float32, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, nil
	}
	list, err := t.Floats()
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the tensor %s is wrong: %w", name, err)
	}
	if n != 0 && len(list) != n {
		return nil, tool.Errorf(op, tool.Invalid, "the tensor %s has %d numbers for %d rows", name, len(list), n)
	}
	for i, x := range list {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, tool.Errorf(op, tool.Invalid, "number %d of the tensor %s is not finite", i, name)
		}
	}
	return list, nil
}
