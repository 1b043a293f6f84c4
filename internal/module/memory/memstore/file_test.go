package memstore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// For any file, what is read of it can be written and read again.
func FuzzParse(f *testing.F) {
	key := Key{User: "ada", App: "engine", Session: "s1"}
	head := `{"memory":1,"book":{"user":"ada","app":"engine","session":"s1"},"seq":7,"last":{"fact":3}}` + "\n"
	f.Add([]byte(head + `{"put":[{"id":"f4","kind":"fact","text":"x","seq":8,` +
		`"made":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}]}` + "\n" +
		`{"drop":["f4"],"put":[{"id":"goal","kind":"goal","text":"y","seq":9}]}` + "\n"))
	f.Add([]byte(head + `{"put":[{"id":"t1","kind":"task","seq":1},{"id":"t1","kind":"task","seq":1},null]}` +
		"\n{}\nnull\n"))
	f.Add([]byte(`{"memory":1,"seq":9223372036854775807}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &contents{last: map[Kind]int{}}
		err := c.parse(data, key)
		var d *damagedError
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		again, err := c.encode(key)
		if err != nil {
			t.Skip() // a time that JSON cannot hold
		}
		back := &contents{last: map[Kind]int{}}
		if err := back.parse(again, key); err != nil {
			t.Fatalf("%q was written as %q: %v", data, again, err)
		}
		if diff := cmp.Diff(c.entries, back.entries); diff != "" || c.seq != back.seq {
			t.Fatalf("%d and %d; %s", c.seq, back.seq, diff)
		}
	})
}
