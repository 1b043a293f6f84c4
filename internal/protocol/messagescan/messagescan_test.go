package messagescan

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
	s := Scanner{Message: func(m *Message) {
		list = append(list, fmt.Sprint(m.HasMethod, " ", m.ID.Key(), " ", m.Method.String(), " ", m.Cancels.Key()))
	}}
	for len(text) > 0 {
		n := min(size, len(text))
		s.Write([]byte(text[:n]))
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
		`{"method":"` + strings.Repeat("m", 1000) + `"}`:        {`true  "` + strings.Repeat("m", maxText-1) + " "},
		`{"id":1,"id":"x","method":"a","method":"b"}`:           {`true "x "b" `},
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
		if m.ID == "" || len(m.ID) > maxText || m.Method == nil {
			return
		}
		id := string(m.ID)
		if len(got) != 1 ||
			!strings.HasPrefix(got[0], "true "+id+" ") && !strings.HasPrefix(got[0], `true "`+id+" ") {
			t.Errorf("%q is reported as %q", text, got)
		}
	})
}

// Where ids and objects stand is told exactly, however the text comes.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		`{"id": 1.5 ,"method":"a","params":{"a":{"b":1}, "_meta":{"x":2} }}`: `1.5|}}|} }}false false`,
		`{"params":{ "_meta":{ } },"id":"x\"y"}`:                             `"x\"y"|},"id":"x\"y"}|} },"id":"x\"y"}false true`,
		`{"method":"a","params":{ },"id":12345678901234567890}`:              `12345678901234567890|},"id":12345678901234567890}|true false`,
	} {
		for _, size := range []int{1, 3, len(text)} {
			got := ""
			s := Scanner{Message: func(m *Message) {
				begin, end := m.ID.Span()
				got = text[begin:end] + "|" + text[m.Params.End:] + "|"
				if m.Meta.Found {
					got += text[m.Meta.End:]
				}
				got += fmt.Sprint(m.Params.Empty, " ", m.Meta.Empty)
			}}
			s.Write([]byte("{\"id\":7}\n"))
			for rest := []byte(text); len(rest) > 0; {
				n := min(size, len(rest))
				s.Write(rest[:n])
				rest = rest[n:]
			}
			if got != want {
				t.Errorf("%s in pieces of %d:\ngot  %s\nwant %s", text, size, got, want)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":` +
		`{"name":"mcp_files.read","arguments":{"path":"a/b/c.txt","limit":10}}}` + "\n")
	s := Scanner{Message: func(*Message) {}}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		s.Write(line)
	}
}

func TestRequestIDs(t *testing.T) {
	for line, want := range map[string][]string{
		`{"jsonrpc":"2.0","id":2,"method":"a","params":{"limit":NaN}}`:         {`2`},
		`{"method":"a","params":{"limit":NaN},"jsonrpc":"2.0","id":"x\u0041"}`: {`"x\u0041"`},
		`[{"id":1,"method":"a","params":[Infinity]},{"id":-2,"method":"b"}]`:   {`1`, `-2`},
		`{"id":1,"id":2,"method":"a","params":NaN}`:                            {`2`},
		`{"id":NaN,"method":"a"}`:                                              nil,
		`{"id":3,"result":NaN}`:                                                nil, // an answer
		`{"method":"notifications/progress","params":{"progress":NaN}}`:        nil,
		`{"id":null,"method":"a","params":NaN}`:                                nil,
		`{"id":{"a":1},"method":"a"}`:                                          nil,
		`{"id":[1],"method":"a"}`:                                              nil,
		`{"id":true,"method":"a"}`:                                             nil,
		`{"id":"` + strings.Repeat("x", 300) + `","method":"a","params":NaN}`:  nil,
		`{"id":` + strings.Repeat("1", 300) + `,"method":"a","params":NaN}`:    nil,
		"{\"id\":\"\x01\",\"method\":\"a\"}":                                   nil,
		`{"id":7,"method":"a","params":{`:                                      nil,
		"hello?":                                                               nil,
	} {
		var got []string
		for _, id := range RequestIDs([]byte(line)) {
			got = append(got, string(id))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}
