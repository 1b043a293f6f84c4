package safetensors_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"callgate/internal/search/embed/safetensors"
	"callgate/tool"

	"github.com/google/go-cmp/cmp"
)

// file writes a file with a header and data.
func file(header, data string) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + data
}

func tensor(t *testing.T, f *safetensors.File, name string) safetensors.Tensor {
	t.Helper()
	x, ok := f.Tensor(name)
	if !ok {
		t.Fatalf("no tensor %s", name)
	}
	return x
}

func TestParse(t *testing.T) {
	text := file(
		`{"__metadata__":{"format":"x"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"a":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},"none":{"dtype":"F64","shape":[0,7],"data_offsets":[12,12]}}  `,
		"\x01\xff\x7f\x80"+"\x00\x00\x80\x3f"+"\x00\x00\x00\xc0",
	)
	f, err := safetensors.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	a := tensor(t, f, "a")
	got, err := a.Int8s()
	if diff := cmp.Diff([]int8{1, -1, 127, -128}, got); err != nil || diff != "" {
		t.Errorf("a: %v %s", err, diff)
	}
	if diff := cmp.Diff([]int{2, 2}, a.Shape); diff != "" {
		t.Error(diff)
	}
	if at := uintptr(unsafe.Pointer(&got[0])) - uintptr(unsafe.Pointer(unsafe.StringData(text))); at >= uintptr(len(text)) {
		t.Error("the numbers were copied out of the file")
	}
	b, err := tensor(t, f, "b").Floats()
	if diff := cmp.Diff([]float32{1, -2}, b); err != nil || diff != "" {
		t.Errorf("b: %v %s", err, diff)
	}
	if none, err := tensor(t, f, "none").Floats(); err != nil || len(none) != 0 {
		t.Errorf("none: %v %v", none, err)
	}
	if _, ok := f.Tensor("__metadata__"); ok {
		t.Error("the metadata is no tensor")
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	entry := func(e string) string { return file(`{"a":`+e+`}`, "12345678") }
	for name, c := range map[string]struct{ file, has string }{
		"empty":                {"", "no header"},
		"short":                {"1234567", "no header"},
		"header past the end":  {"\xff\x00\x00\x00\x00\x00\x00\x00{}", "claims 255"},
		"header past all":      {strings.Repeat("\xff", 8) + "{}", "claims 18446744073709551615"},
		"header too long":      {file(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`, ""), "at most"},
		"header not JSON":      {file("hello", ""), "not a JSON object"},
		"header a list":        {file("[]", ""), "not a JSON object"},
		"entry a number":       {entry(`3`), "another form"},
		"unknown type":         {entry(`{"dtype":"Q4","shape":[8],"data_offsets":[0,8]}`), `"Q4"`},
		"no type":              {entry(`{"shape":[8],"data_offsets":[0,8]}`), "unknown type"},
		"negative size":        {entry(`{"dtype":"I8","shape":[-8],"data_offsets":[0,8]}`), "another form"},
		"half a size":          {entry(`{"dtype":"I8","shape":[8.5],"data_offsets":[0,8]}`), "another form"},
		"one offset":           {entry(`{"dtype":"I8","shape":[8],"data_offsets":[8]}`), "1 data offsets"},
		"three offsets":        {entry(`{"dtype":"I8","shape":[8],"data_offsets":[0,8,8]}`), "3 data offsets"},
		"backwards":            {entry(`{"dtype":"I8","shape":[8],"data_offsets":[8,0]}`), "lies at bytes 8 to 0"},
		"past the end":         {entry(`{"dtype":"I8","shape":[9],"data_offsets":[0,9]}`), "lies at bytes 0 to 9"},
		"far past the end":     {entry(`{"dtype":"I8","shape":[9],"data_offsets":[0,18446744073709551615]}`), "lies at"},
		"fewer than the shape": {entry(`{"dtype":"F32","shape":[8],"data_offsets":[0,8]}`), "needs 32 bytes and has 8"},
		"more than the shape":  {entry(`{"dtype":"I8","shape":[7],"data_offsets":[0,8]}`), "needs 7 bytes and has 8"},
		"a product that wraps": {entry(`{"dtype":"I8","shape":[4294967296,4294967296,8],"data_offsets":[0,8]}`),
			"too large"},
		"a product near nothing": {entry(`{"dtype":"I8","shape":[18446744073709551615,0],"data_offsets":[0,0]}`),
			"too large"},
		"two in one place": {file(`{"a":{"dtype":"I8","shape":[5],"data_offsets":[0,5]},"b":{"dtype":"I8","shape":[4],"data_offsets":[4,8]}}`, "12345678"), "overlap"},
	} {
		_, err := safetensors.Parse(c.file)
		if err == nil || !strings.Contains(err.Error(), c.has) || tool.KindOf(err) != tool.Invalid {
			t.Errorf("%s: %v (%s), want %q", name, err, tool.KindOf(err), c.has)
		}
	}
}

func TestNumbers(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, c := range map[string]struct {
		kind safetensors.Type
		data string
		want []float32
	}{
		"I8": {safetensors.I8, "\x00\x7f\x80", []float32{0, 127, -128}},
		"F16": {safetensors.F16, "\x00\x3c\x00\xc0\x01\x00\xff\x03\x00\x04\xff\x7b\x00\x80\x00\x7c\x00\xfc",
			[]float32{1, -2, 0x1p-24, 0x1.ff8p-15, 0x1p-14, 65504, 0, inf, -inf}},
		"BF16": {safetensors.BF16, "\x80\x3f\x00\xc0\x80\x7f", []float32{1, -2, inf}},
		"F32":  {safetensors.F32, "\x00\x00\x80\x3f\xdb\x0f\x49\x40", []float32{1, math.Pi}},
		"F64":  {safetensors.F64, "\x00\x00\x00\x00\x00\x00\xf0\x3f", []float32{1}},
	} {
		got, err := safetensors.Tensor{Type: c.kind, Data: c.data}.Floats()
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	half, err := safetensors.Tensor{Type: safetensors.F16, Data: "\x01\x7c"}.Floats()
	if err != nil || !math.IsNaN(float64(half[0])) {
		t.Errorf("a half that is no number: %v %v", half, err)
	}
	if _, err := (safetensors.Tensor{Type: "U8", Data: "1"}).Floats(); tool.KindOf(err) != tool.Invalid {
		t.Errorf("U8 as floats: %v", err)
	}
	if _, err := (safetensors.Tensor{Type: safetensors.F32, Data: "1234"}).Int8s(); tool.KindOf(err) != tool.Invalid {
		t.Errorf("F32 as bytes: %v", err)
	}
}

func TestPlaces(t *testing.T) {
	i32 := safetensors.Tensor{Type: safetensors.I32, Data: "\x02\x00\x00\x00\x00\x00\x00\x00"}
	i64 := safetensors.Tensor{Type: safetensors.I64, Data: "\x02\x00\x00\x00\x00\x00\x00\x00"}
	for name, c := range map[string]struct {
		in    safetensors.Tensor
		limit int
		want  []int32
	}{
		"I32":          {i32, 3, []int32{2, 0}},
		"I64":          {i64, 3, []int32{2}},
		"past the end": {i32, 2, nil},
		"negative":     {safetensors.Tensor{Type: safetensors.I32, Data: "\xff\xff\xff\xff"}, 9, nil},
		"far past": {safetensors.Tensor{Type: safetensors.I64, Data: "\x00\x00\x00\x00\x01\x00\x00\x00"}, math.MaxInt,
			nil},
		"floats": {safetensors.Tensor{Type: safetensors.F32, Data: "\x00\x00\x00\x00"}, 9, nil},
	} {
		got, err := c.in.Ints(c.limit)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},"__metadata__":{}}`, "1234"))
	f.Add(file(`{"a":{"dtype":"F16","shape":[],"data_offsets":[0,2]},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}`, "123456"))
	f.Add("\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := safetensors.Parse(text)
		if err != nil {
			var e *tool.Error
			if !errors.As(err, &e) || e.Kind != tool.Invalid || e.Op == "" {
				t.Fatalf("the error %v is not one of ours", err)
			}
			return
		}
		for _, name := range []string{"a", "b", ""} {
			x, ok := parsed.Tensor(name)
			if !ok {
				continue
			}
			n := 1
			for _, size := range x.Shape {
				n *= size
			}
			if list, err := x.Floats(); err == nil && len(list) != n {
				t.Fatalf("%d numbers of shape %v", len(list), x.Shape)
			}
			_, _ = x.Int8s()
			_, _ = x.Ints(10)
		}
	})
}
