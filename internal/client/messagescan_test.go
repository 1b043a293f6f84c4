package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is what the scanner reports of a text, given in pieces of some size.
func seen(text string, size int) []string {
	var list []string
	s := messageScanner{message: func(m *message) {
		list = append(list, fmt.Sprint(m.hasMethod, " ", m.id.key(), " ", string(m.method.text), " ", m.cancels.key()))
	}}
	s.line()
	for len(text) > 0 {
		n := min(size, len(text))
		s.write([]byte(text[:n]))
		text = text[n:]
	}
	return list
}

func TestScan(t *testing.T) {
	for text, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"requestId":7}}`:                       {`true 1 "a" 7`},
		`{"id" : "x\"y" , "result" : {"id":2,"method":"b"}}`:                                   {`false "x"y  `},
		`{"params":{"deep":{"requestId":1},"list":["requestId",":"],"requestId":"r"},"id":-3}`: {`false -3  "r`},
		`{"id":null,"error":{}}`:                                {`false   `},
		`[{"id":1,"method":"a"},{"id":2,"result":[]}]`:          {`true 1 "a" `, `false 2  `},
		"{\"id\":1\n{\"id\":2}\n":                               {`false 2  `},
		`{"a":"}{\"id\":4","id":5}`:                             {`false 5  `},
		`{"params":["requestId",{"requestId":1}],"method":"m"}`: {`true  "m" `},
		`{"method":"` + strings.Repeat("m", 1000) + `"}`:        {`true  "` + strings.Repeat("m", maxShortText-1) + " "},
		"banner, not JSON":                                      nil,
	} {
		for _, size := range []int{1, 2, 7, len(text)} {
			if diff := cmp.Diff(want, seen(text, size)); diff != "" {
				t.Errorf("%s in pieces of %d (-want +got):\n%s", text, size, diff)
			}
		}
	}
}

// A scan agrees with a decoder about every message that is one, and never
// breaks over what is none.
func FuzzScan(f *testing.F) {
	f.Add(`{"id":1,"method":"a","params":{"requestId":7}}`, 3)
	f.Add("{\"id\":\"x\"}\n[{\"id\":2}]", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		got := seen(text, max(1, size))
		if diff := cmp.Diff(seen(text, len(text)+1), got); diff != "" {
			t.Fatalf("pieces make a difference: %s", diff)
		}
		var m struct {
			ID     json.Number
			Method *string
		}
		line := strings.TrimSpace(text)
		lower := strings.ToLower(line)
		once := strings.Count(line, `"id"`) == 1 && strings.Count(line, `"method"`) == 1 &&
			strings.Count(lower, `"id"`) == 1 && strings.Count(lower, `"method"`) == 1
		if strings.ContainsAny(line, "\\\n") || !strings.HasPrefix(line, "{") || !once ||
			json.Unmarshal([]byte(line), &m) != nil {
			return
		}
		if m.ID == "" || len(m.ID) > maxShortText || m.Method == nil {
			return
		}
		id := string(m.ID)
		if len(got) != 1 ||
			!strings.HasPrefix(got[0], "true "+id+" ") && !strings.HasPrefix(got[0], `true "`+id+" ") {
			t.Errorf("%q is reported as %q", text, got)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":` +
		`{"name":"mcp_files.read","arguments":{"path":"a/b/c.txt","limit":10}}}` + "\n")
	s := messageScanner{message: func(*message) {}}
	s.line()
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		s.write(line)
	}
}
