package memstore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/document"
)

// For any file, what is read of it can be stored as documents and read again.
func FuzzParseFile(f *testing.F) {
	key := Key{User: "ada", App: "engine", Session: "s1"}
	first := `{"memory":1,"book":{"user":"ada","app":"engine","session":"s1"},"seq":7,"last":{"fact":3}}` + "\n"
	f.Add([]byte(first + `{"put":[{"id":"f4","kind":"fact","text":"x","seq":8,` +
		`"made":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}]}` + "\n" +
		`{"drop":["f4"],"put":[{"id":"goal","kind":"goal","text":"y","seq":9}]}` + "\n"))
	f.Add([]byte(first + `{"put":[{"id":"t1","kind":"task","seq":1},{"id":"t1","kind":"task","seq":1},null]}` +
		"\n{}\nnull\n"))
	f.Add([]byte(first + `{"put":[{"id":"t1","kind":"task","seq":1,"made":"2026-01-01T00:00:00+24:00"}]}` + "\n"))
	f.Add([]byte(`{"memory":1,"seq":9223372036854775807}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _ := parseFile(data, key)
		changes, err := c.headChange(0)
		if err != nil {
			t.Fatal(err)
		}
		back := &contents{head: head{Key: key, Last: map[Kind]int{}}, versions: map[string]int64{}}
		if !back.parseHead(changes[0].Data) {
			t.Fatalf("the head %s cannot be read", changes[0].Data)
		}
		for _, e := range c.entries {
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if !back.add(document.Document{Key: e.ID, Version: 1, Data: data}) {
				t.Fatalf("the entry %s cannot be read", data)
			}
		}
		if diff := cmp.Diff(c.entries, back.entries); diff != "" || c.head.Seq != back.head.Seq {
			t.Fatalf("%d and %d; %s", c.head.Seq, back.head.Seq, diff)
		}
	})
}
