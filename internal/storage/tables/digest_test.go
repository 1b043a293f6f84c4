package tables_test

import (
	"bytes"
	"testing"

	"callgate/internal/storage/tables"
)

// Rows that differ in anything read differently: also in what is NULL, and in where one cell ends.
func TestEncodeTellsRowsApart(t *testing.T) {
	t.Parallel()
	rows := []tables.Row{
		{}, {nil}, {nil, nil}, {int64(0)}, {int64(1)}, {int64(-1)}, {""}, {"", ""}, {"a"}, {"a", "b"}, {"ab", ""}, {"", "ab"},
		{[]byte{}}, {[]byte("a")}, {[]byte("a"), []byte("b")}, {[]byte("ab")}, {"n"}, {"\x00"}, {"\x00\x00"}, {[]byte{0}},
		{"a", nil}, {nil, "a"}, {int64('a')},
	}
	digests := map[string]int{}
	for i, a := range rows {
		for j, b := range rows {
			if same := bytes.Equal(tables.Encode(a), tables.Encode(b)); same != (i == j) {
				t.Errorf("%#v and %#v: the same %v", a, b, same)
			}
		}
		var d tables.Digest
		d.Add(a)
		digests[d.String()] = i
	}
	if len(digests) != len(rows) {
		t.Errorf("%d digests of %d rows", len(digests), len(rows))
	}
}

// Two texts in two cells read as one row only.
func FuzzEncode(f *testing.F) {
	f.Add("a", "b", []byte("c"), "ab", "", []byte("c"))
	f.Add("", "\x00", []byte{}, "\x00", "", []byte{})
	f.Fuzz(func(t *testing.T, a, b string, c []byte, d, e string, g []byte) {
		same := a == d && b == e && bytes.Equal(c, g)
		if bytes.Equal(tables.Encode(tables.Row{a, b, c}), tables.Encode(tables.Row{d, e, g})) != same {
			t.Errorf("%q %q %q and %q %q %q", a, b, c, d, e, g)
		}
	})
}
