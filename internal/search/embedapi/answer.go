package embedapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

type answer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
}

// read reads the vectors of n texts from an answer, scaled to length one. A
// failure says what was wrong with the answer.
func (e *Endpoint) read(data []byte, n int) ([][]float32, *failure) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, e.malformedError("it is not the JSON of embeddings%s", e.quoted(data))
	}
	if len(a.Data) != n {
		// Some servers report an error with status 200.
		return nil, e.malformedError("it has %d vectors for %d texts%s", len(a.Data), n, e.quoted(data))
	}
	rows := make([][]float32, n)
	for _, d := range a.Data {
		switch {
		case d.Index == nil:
			return nil, e.malformedError("a vector has no index, so its text is not known")
		case *d.Index < 0 || *d.Index >= n:
			return nil, e.malformedError("a vector has the index %d, and there are %d texts", *d.Index, n)
		case rows[*d.Index] != nil:
			return nil, e.malformedError("two vectors have the index %d", *d.Index)
		}
		row, err := vector(d.Embedding)
		if err != nil {
			return nil, e.malformedError("the vector of text %d of %d %s", *d.Index+1, n, err)
		}
		rows[*d.Index] = row
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, e.malformedError("the vector of text %d has %d numbers, that of text 1 has %d",
				i+1, len(row), len(rows[0]))
		}
	}
	if e.dimensions > 0 && len(rows[0]) != e.dimensions {
		f := e.malformedError("its vectors have %d numbers where %d were asked for", len(rows[0]), e.dimensions)
		f.err.Hint = "the server or the model cannot shorten vectors: leave dimensions out"
		return nil, f
	}
	return rows, nil
}

// vector reads one embedding, a list of numbers or the base64 of float32s, and
// scales it to length one.
func vector(raw json.RawMessage) ([]float32, error) {
	var row []float32
	switch {
	case len(raw) > 0 && raw[0] == '"':
		var packed []byte
		if err := json.Unmarshal(raw, &packed); err != nil || len(packed)%4 != 0 {
			return nil, errors.New("is not the base64 of whole float32 numbers")
		}
		row = make([]float32, len(packed)/4)
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
		}
	default:
		var err error
		if row, err = numbers(raw); err != nil {
			return nil, err
		}
	}
	if len(row) == 0 {
		return nil, errors.New("is empty")
	}
	return row, normaliseRow(row)
}

// numbers reads a list of numbers from text that is valid JSON: the text between
// two commas is a number, or parsing it fails. This is most of the work for an
// answer, and the general decoder takes several times as long.
func numbers(raw json.RawMessage) ([]float32, error) {
	if len(raw) < 2 || raw[0] != '[' {
		return nil, errors.New("is not a list")
	}
	list := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(list) == 0 {
		return nil, nil
	}
	row := make([]float32, 0, bytes.Count(list, []byte(","))+1)
	for more := true; more; {
		var one []byte
		one, list, more = bytes.Cut(list, []byte(","))
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(one)), 32)
		if err != nil {
			if bytes.Contains(one, []byte("null")) { // some servers write NaN so
				return nil, errors.New("holds null where a number belongs")
			}
			return nil, errors.New("is not a list of numbers that a float32 can hold")
		}
		row = append(row, float32(x))
	}
	return row, nil
}

// normaliseRow scales a row to length one, in place.
func normaliseRow(row []float32) error {
	var sum float64
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(sum) || math.IsInf(sum, 0):
		return errors.New("holds NaN or an infinite number")
	case sum == 0:
		return errors.New("is all zeros")
	}
	by := 1 / math.Sqrt(sum)
	for i, x := range row {
		row[i] = float32(float64(x) * by)
	}
	return nil
}
