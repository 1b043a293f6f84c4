package jsonc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"callgate/internal/importer/configtree"
	"callgate/internal/importer/jsonc"
)

var update = flag.Bool("update", false, "rewrite what comes after each edit")

var (
	path   = []string{"mcpServers"}
	fields = []configtree.Field{{Name: "command", Value: "callgate"}, {Name: "args", Value: []string{"mcp"}}}
)

func replace(text string) (string, error) {
	out, err := jsonc.Replace([]byte(text), path, "callgate", fields)
	return string(out), err
}

const golden = "testdata/replace.txtar"

// befores are the texts of the golden file.
func befores(t testing.TB) map[string]string {
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, f := range archive.Files {
		texts[f.Name] = string(f.Data)
	}
	return texts
}

func TestReplace(t *testing.T) {
	archive, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	texts := befores(t)
	var files []txtar.File
	for _, f := range archive.Files {
		name, isBefore := strings.CutSuffix(f.Name, " | before")
		if !isBefore {
			continue
		}
		t.Run(name, func(t *testing.T) {
			before := string(f.Data)
			if strings.Contains(name, "no newline") {
				before = strings.TrimRight(before, "\n")
			}
			after, err := replace(before)
			if err != nil {
				t.Fatal(err)
			}
			shown := after
			if !strings.HasSuffix(shown, "\n") {
				shown += "\n" // as a golden file has it
			}
			files = append(files, f, txtar.File{Name: name + " | after", Data: []byte(shown)})
			if diff := cmp.Diff(texts[name+" | after"], shown); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n") {
				t.Error("the newline at the end came or went")
			}
			if again, err := replace(after); err != nil || again != after {
				t.Errorf("a second time it is another: %v\n%s", err, again)
			}
			crlf := strings.NewReplacer("\n", "\r\n")
			if windows, err := replace(crlf.Replace(before)); err != nil || windows != crlf.Replace(after) {
				t.Errorf("with the line ends of Windows: %v\n%q", err, windows)
			}
			if marked, err := replace("\ufeff" + before); err != nil || marked != "\ufeff"+after {
				t.Errorf("with a byte order mark: %v\n%q", err, marked)
			}
		})
	}
	if *update {
		archive.Files = files
		if err := os.WriteFile(golden, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Texts without a line end stay on one line, and what is crowded onto a line
// stays readable.
func TestReplaceShort(t *testing.T) {
	const server = `"callgate": {"command": "callgate", "args": ["mcp"]}`
	for before, want := range map[string]string{
		`{}`:                           `{"mcpServers": {` + server + `}}`,
		` { } `:                        ` {"mcpServers": {` + server + `}} `,
		`{"mcpServers": {}}`:           `{"mcpServers": {` + server + `}}`,
		`{"mcpServers": {/* none */}}`: `{"mcpServers": {/* none */ ` + server + `}}`,
		`{"mcpServers":null}`:          `{"mcpServers":{` + server + `}}`,
		`{"a":1 /* x */}`:              `{"a":1, "mcpServers": {` + server + `} /* x */}`,
		"{\n  \"a\": 1}":               "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"callgate\": {\n      \"command\": \"callgate\",\n      \"args\": [\"mcp\"]\n    }\n  }}",
		"{\n  \"a\": 1 /*\n*/ }":       "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"callgate\": {\n      \"command\": \"callgate\",\n      \"args\": [\"mcp\"]\n    }\n  } /*\n*/ }",
	} {
		if after, err := replace(before); err != nil || after != want {
			t.Errorf("%q: %v\n%q\nwanted\n%q", before, err, after, want)
		}
	}
}

func TestReplaceDeeper(t *testing.T) {
	deep := []string{"projects", "/work", "mcpServers"}
	for before, want := range map[string]string{
		"{\n  \"projects\": {\n    \"/work\": {\n      \"x\": 1\n    }\n  }\n}": "{\n  \"projects\": {\n    \"/work\": {\n      \"x\": 1,\n      \"mcpServers\": {\n        \"c\": {\n          \"a\": true\n        }\n      }\n    }\n  }\n}",
		`{"projects": {"/other": {}}}`:                                          `{"projects": {"/other": {}, "/work": {"mcpServers": {"c": {"a": true}}}}}`,
		`{"projects": null}`:                                                    `{"projects": {"/work": {"mcpServers": {"c": {"a": true}}}}}`,
	} {
		out, err := jsonc.Replace([]byte(before), deep, "c", []configtree.Field{{Name: "a", Value: true}})
		if err != nil || string(out) != want {
			t.Errorf("%v\n%s\nwanted\n%s", err, out, want)
		}
	}
	for _, text := range []string{`{"projects": []}`, `{"projects": {"/work": 1}}`, `{"projects": {}, "projects": {}}`, `[]`, `{"projects": {"/work": {"mcpServers": "x"}}}`} {
		if out, err := jsonc.Replace([]byte(text), deep, "c", nil); err == nil {
			t.Errorf("%s became %s", text, out)
		}
	}
}

// What Parse reads of plain JSON is what the standard library reads.
func FuzzParse(f *testing.F) {
	for _, text := range befores(f) {
		f.Add([]byte(text))
	}
	for _, text := range []string{"", " ", "null", "-0.5e+3", `"\u00e9\n"`, `[1,[],{"a":{}}]`, "{\"a\":1}//", "/**/1/*", "01", "1.", "\"\x00\"", `"\ud800"`, "tru", "\ufeff1", "//\r1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonc.Parse(text)
		var want any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		plain := json.Valid(text) && d.Decode(&want) == nil
		if err != nil {
			if m, ok := err.(*configtree.SyntaxError); !ok || m.At < 0 || m.At > len(text) || m.What == "" {
				t.Fatalf("the error is %#v", err)
			}
			if plain && configtree.Valid(text) == nil && bytes.Count(text, []byte("[")) < 200 && bytes.Count(text, []byte("{")) < 200 {
				t.Fatalf("it is JSON, and yet: %v", err)
			}
			return
		}
		if !plain || v == nil {
			return
		}
		if got := value(v); !sameJSON(got, want) {
			t.Fatalf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	})
}

// value is a tree as the standard library has it.
func value(v *configtree.Value) any {
	switch v.Kind {
	case configtree.Text:
		return v.Text
	case configtree.Number:
		return json.Number(v.Text)
	case configtree.Bool:
		return v.Text == "true"
	case configtree.List:
		list := []any{}
		for i := range v.Items {
			list = append(list, value(&v.Items[i]))
		}
		return list
	case configtree.Object:
		m := map[string]any{}
		for i := range v.Members {
			m[v.Members[i].Name] = value(&v.Members[i].Value)
		}
		return m
	}
	return nil
}

func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, two)
}

// FuzzReplace replaces the servers of any text: it is an error, or a text that
// holds the one server and all else that was there.
func FuzzReplace(f *testing.F) {
	for _, text := range befores(f) {
		f.Add([]byte(text))
	}
	f.Add([]byte("//"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := jsonc.Replace(text, path, "callgate", fields)
		if err != nil {
			if _, ok := err.(*configtree.SyntaxError); !ok || out != nil {
				t.Fatalf("a defect: %v", err)
			}
			return
		}
		check(t, string(text), string(out))
	})
}

// check holds a replaced text against the one before without the package's
// own proof: comments are stripped here in another way.
func check(t *testing.T, before, after string) {
	t.Helper()
	var was, is map[string]any
	if err := json.Unmarshal([]byte(strip(after)), &is); err != nil {
		t.Fatalf("%v: %s\nof\n%s", err, after, before)
	}
	if plain := strip(before); strings.TrimSpace(plain) != "" {
		if err := json.Unmarshal([]byte(plain), &was); err != nil {
			t.Fatalf("%v: %s", err, before)
		}
	}
	want := map[string]any{"callgate": map[string]any{"command": "callgate", "args": []any{"mcp"}}}
	if !sameJSON(is["mcpServers"], want) {
		t.Fatalf("the servers are %v\n%s\nof\n%s", is["mcpServers"], after, before)
	}
	delete(was, "mcpServers")
	delete(is, "mcpServers")
	if len(was)+len(is) > 0 && !sameJSON(was, is) {
		t.Fatalf("(-before +after):\n%s", cmp.Diff(was, is))
	}
	if json.Valid([]byte(before)) && !json.Valid([]byte(after)) {
		t.Fatalf("it was plain JSON, and is not:\n%s", after)
	}
}

var pieces = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|//[^\n\r]*|(?s:/\*.*?\*/)`)

var comma = regexp.MustCompile(`,(\s*[}\]])`)

// strip makes a text plain JSON.
func strip(text string) string {
	var quoted []string
	text = pieces.ReplaceAllStringFunc(strings.TrimPrefix(text, "\ufeff"), func(piece string) string {
		if piece[0] != '"' {
			return " "
		}
		quoted = append(quoted, piece)
		return "\x01"
	})
	text = comma.ReplaceAllString(text, "$1")
	return regexp.MustCompile("\x01").ReplaceAllStringFunc(text, func(string) string {
		first := quoted[0]
		quoted = quoted[1:]
		return first
	})
}

var remark = regexp.MustCompile(`c\d+ `)

// Texts of any shape keep every comment that stands outside the servers.
func TestRandomTexts(t *testing.T) {
	for seed := range uint64(1500) {
		s := &scribe{Rand: rand.New(rand.NewPCG(seed, 7))}
		s.object([]string{"a", "mcpServers", "z"}[s.IntN(2):2+s.IntN(2)], 0)
		before := s.b.String()
		after, err := replace(before)
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, before)
		}
		check(t, before, after)
		if was, is := s.outside, remark.FindAllString(after, -1); !slices.Equal(was, is) {
			t.Fatalf("%d: the comments %v became %v\n%s\n%s", seed, was, is, before, after)
		}
		if again, err := replace(after); err != nil || again != after {
			t.Fatalf("%d: a second time it is another: %v\n%s\n%s", seed, err, after, again)
		}
	}
}

// scribe writes JSON as people do.
type scribe struct {
	*rand.Rand
	b       strings.Builder
	count   int
	inside  int
	outside []string // the comments that must stay
}

func (s *scribe) space() {
	for s.IntN(3) == 0 {
		s.count++
		if s.inside == 0 {
			s.outside = append(s.outside, fmt.Sprintf("c%d ", s.count))
		}
		if s.IntN(2) == 0 {
			fmt.Fprintf(&s.b, "// c%d \"{,\n", s.count)
		} else {
			fmt.Fprintf(&s.b, "/* c%d }\" */", s.count)
		}
	}
	s.b.WriteString([]string{"", " ", "\n", "\n  ", "\r\n\t"}[s.IntN(5)])
}

func (s *scribe) object(names []string, depth int) {
	s.b.WriteString("{")
	for i, name := range names {
		s.space()
		held := depth == 1 && s.inside == 0 // a server: what it holds goes with it
		if held {
			s.inside++
		}
		s.b.WriteString(`"` + name + `"`)
		s.space()
		s.b.WriteString(":")
		s.space()
		switch {
		case name == "mcpServers":
			s.object([]string{"x", "y", "z"}[:s.IntN(4)], 1)
		case held:
			s.object([]string{"command", "env"}, 2)
		default:
			s.b.WriteString([]string{"1", `"a,\"}"`, "[1,]", "{}", "null"}[s.IntN(5)])
		}
		if held {
			s.inside--
		}
		s.space()
		if i < len(names)-1 || s.IntN(3) == 0 {
			s.b.WriteString(",")
		}
	}
	s.space()
	s.b.WriteString("}")
}

func BenchmarkParse(b *testing.B) {
	entry := `"s%d": {"command": "npx", "args": ["-y", "server"], "env": {"A": "b\n"}}, // one` + "\n"
	var text bytes.Buffer
	text.WriteString(`{"mcpServers": {`)
	for i := range 100 {
		fmt.Fprintf(&text, entry, i)
	}
	text.WriteString("}}")
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := jsonc.Parse(text.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}
