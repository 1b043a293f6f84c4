package toml_test

import (
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
	"callgate/internal/importer/toml"
)

var update = flag.Bool("update", false, "rewrite what comes after each edit")

var fields = []configtree.Field{{Name: "command", Value: "callgate"}, {Name: "args", Value: []string{"mcp"}}}

func replace(text string) (string, error) {
	out, err := toml.Replace([]byte(text), "mcp_servers", "callgate", fields)
	return string(out), err
}

// value is a tree as JSON has it.
func value(v *configtree.Value) any {
	switch v.Kind {
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
	case configtree.Text:
		return v.Text
	}
	return v.Kind.String() + " " + v.Text
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"scalars", "a = 1\nb = -1_000\nc = 0xDEAD_beef\nd = 0o17\ne = 0b1\nf = 1.5e+3\ng = -inf\nh = true\ni = +0.0", `{"a":"a number 1","b":"a number -1_000","c":"a number 0xDEAD_beef","d":"a number 0o17","e":"a number 0b1","f":"a number 1.5e+3","g":"a number -inf","h":"true or false true","i":"a number +0.0"}`},
		{"times", "a = 2026-01-02\nb = 2026-01-02T03:04:05.678Z\nc = 2026-01-02 03:04:05+01:00 # x\nd = 03:04:05", `{"a":"a time 2026-01-02","b":"a time 2026-01-02T03:04:05.678Z","c":"a time 2026-01-02 03:04:05+01:00","d":"a time 03:04:05"}`},
		{"texts", `a = "\b\t\n\f\r\e\"\\\u00e9\U0001F600\x41"` + "\nb = 'a\\b'\nc = ''", `{"a":"\b\t\n\f\r\u001b\"\\é😀A","b":"a\\b","c":""}`},
		{"long texts", "a = \"\"\"\nx \\\n   y\n\"\"z\"\"\"\"\"\nb = '''\r\nx\\\r\n''y'''\nc = \"\"\"\"\"\"", `{"a":"x y\n\"\"z\"\"","b":"x\\\n''y","c":""}`},
		{"names", "\"a.b\" . 'c'.d_-1 = 1\n\"\" = 2\n1.2 = 3", `{"":"a number 2","1":{"2":"a number 3"},"a.b":{"c":{"d_-1":"a number 1"}}}`},
		{"lists", "a = [ 1, [\"x\", # one\n 'y'\n], ] # z", `{"a":["a number 1",["x","y"]]}`},
		{"braces", "a = { b.c = 1, \"d\" = [{}], }\ne = {\n f = 1, # x\n}", `{"a":{"b":{"c":"a number 1"},"d":[{}]},"e":{"f":"a number 1"}}`},
		{"tables", "[a.b]\nx = 1\n[a]\ny = 2\n[a.b.c]\n[ d . \"e\" ]", `{"a":{"b":{"c":{},"x":"a number 1"},"y":"a number 2"},"d":{"e":{}}}`},
		{"lists of tables", "[[a]]\nx = 1\n[a.b]\ny = 2\n[[a]]\n[[a.c]]\nz = 3", `{"a":[{"b":{"y":"a number 2"},"x":"a number 1"},{"c":[{"z":"a number 3"}]}]}`},
		{"dotted, then a table below", "a.b = 1\n[a.c]\nd = 2", `{"a":{"b":"a number 1","c":{"d":"a number 2"}}}`},
		{"nothing", "\ufeff\n\t# x\r\n", `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := toml.Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(value(d.Root))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	for _, text := range []string{
		"a", "a =", "a = 1 2", "= 1", "a. = 1", ".a = 1", "a = 01", "a = 1__0", "a = 1.", "a = .5", "a = 0x", "a = +0x1", "a = tru", "a = 2026-1-1", "a = \"x", "a = 'x\n'", "a = \"\\q\"",
		"a = \"\\ud800\"", "a = \"\\U00110000\"", "a = \"\x00\"", "a = \"\"\"x", "a = '''x''''''", "a = [1 2]", "a = [1", "a = [,]", "a = {b}", "a = {b = 1 c = 2}", "a = {", "a = {,}",
		"[a", "[a]]", "[[a]", "[]", "[a.]", "[a] b = 1", "[a]\n[a]", "a = 1\n[a]", "a = {}\n[a.b]", "a = 1\na = 2", "a = 1\na.b = 2", "a.b = 1\na.b = 2", "[a.b]\n[a]\nb.c = 1",
		"[a]\nb.c = 1\n[a.b]", "[[a]]\n[a]", "[a]\n[[a]]", "a = []\n[[a]]", "a = {b = 1, b = 2}", "a = {b = 1, b.c = 2}", "\"\"\"a\"\"\" = 1", "a = 1 # \x00", "# \x7f", "a = 1\rb = 2", "# \xff",
		"[a.b.c]\n[a]\nb.x = 1",
	} {
		_, err := toml.Parse([]byte(text))
		m, ok := err.(*configtree.SyntaxError)
		if !ok || m.What == "" || m.At < 0 || m.At > len(text) {
			t.Errorf("%q: %#v", text, err)
		}
	}
}

const golden = "testdata/replace.txtar"

func archive(t testing.TB) *txtar.Archive {
	a, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestReplace(t *testing.T) {
	a := archive(t)
	texts := map[string]string{}
	for _, f := range a.Files {
		texts[f.Name] = string(f.Data)
	}
	var files []txtar.File
	for _, f := range a.Files {
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
				shown += "\n"
			}
			files = append(files, f, txtar.File{Name: name + " | after", Data: []byte(shown)})
			if diff := cmp.Diff(texts[name+" | after"], shown); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again, err := replace(after); err != nil || again != after {
				t.Errorf("a second time it is another: %v\n%s", err, again)
			}
			crlf := strings.NewReplacer("\n", "\r\n")
			if windows, err := replace(crlf.Replace(before)); err != nil || strings.Contains(before, "\n") && windows != crlf.Replace(after) {
				t.Errorf("with the line ends of Windows: %v\n%q", err, windows)
			}
			if marked, err := replace("\ufeff" + before); err != nil || marked != "\ufeff"+after {
				t.Errorf("with a byte order mark: %v\n%q\n%q", err, marked, after)
			}
		})
	}
	if *update {
		a.Files = files
		if err := os.WriteFile(golden, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every text can be written, whatever is in it.
func TestTexts(t *testing.T) {
	for _, s := range []string{"", "a b", `C:\x`, `C:\it's`, `"`, "a\nb\t\x7f\x01", "é😀", "'", "a.b"} {
		out, err := toml.Replace(
			nil,
			"mcp_servers",
			s,
			[]configtree.Field{{Name: "command", Value: s}, {Name: "args", Value: []string{s}}, {Name: s + "x", Value: true}},
		)
		if err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		if _, err := toml.Parse(out); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzReplace(f *testing.F) {
	for _, file := range archive(f).Files {
		f.Add(file.Data)
	}
	f.Add([]byte("a.b = 1\n[a.c]\nd = 2026-01-02 03:04:05\n[[e]]\n[e.f]\ng = '''x'''\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := toml.Replace(text, "mcp_servers", "callgate", fields)
		if err != nil {
			if _, ok := err.(*configtree.SyntaxError); !ok || out != nil {
				t.Fatalf("a defect: %v\n%s", err, text)
			}
			return
		}
		check(t, text, out)
	})
}

// check holds a replaced text against the one before.
func check(t *testing.T, before, after []byte) {
	t.Helper()
	was, err := toml.Parse(before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := toml.Parse(after)
	if err != nil {
		t.Fatalf("%v\n%s", err, after)
	}
	one, two := value(was.Root).(map[string]any), value(is.Root).(map[string]any)
	want := map[string]any{"callgate": map[string]any{"command": "callgate", "args": []any{"mcp"}}}
	if diff := cmp.Diff(want, two["mcp_servers"]); diff != "" {
		t.Fatalf("(-want +got):\n%s\n%s", diff, after)
	}
	delete(one, "mcp_servers")
	delete(two, "mcp_servers")
	if diff := cmp.Diff(one, two); diff != "" {
		t.Fatalf("(-before +after):\n%s\n%s", diff, after)
	}
}

var remark = regexp.MustCompile(`# c\d+ `)

// Texts of any shape keep every comment above a header, and every other line.
func TestRandomTexts(t *testing.T) {
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 3))
		var b strings.Builder
		var keep []string
		count := 0
		comment := func(kept bool) string {
			count++
			if kept {
				keep = append(keep, fmt.Sprintf("# c%d ", count))
			}
			return fmt.Sprintf("# c%d [x]\n", count)
		}
		gap := func(kept bool) {
			for r.IntN(3) == 0 {
				if r.IntN(2) == 0 {
					b.WriteString("  " + comment(kept))
				} else {
					b.WriteString([]string{"\n", " \n"}[r.IntN(2)])
				}
			}
		}
		gap(true)
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "top = [1,\n 2] %s", comment(true))
		}
		for i := range r.IntN(5) {
			gap(true)
			mine := r.IntN(2) == 0
			if name := fmt.Sprintf("s%d", i); mine {
				fmt.Fprintf(&b, "[mcp_servers.%s] %s", name, comment(false))
			} else {
				fmt.Fprintf(&b, "[%s] %s", name, comment(true))
			}
			for k := range r.IntN(3) {
				gap(!mine)
				fmt.Fprintf(&b, "k%d = \"\"\"\n#\n\"\"\" %s", k, comment(!mine))
			}
		}
		gap(true)
		before := b.String()
		after, err := replace(before)
		if err != nil {
			t.Fatalf("%d: %v\n%s", seed, err, before)
		}
		check(t, []byte(before), []byte(after))
		if is := remark.FindAllString(after, -1); !slices.Equal(keep, is) {
			t.Fatalf("%d: the comments %v became %v\n%s\n----\n%s", seed, keep, is, before, after)
		}
		if again, err := replace(after); err != nil || again != after {
			t.Fatalf("%d: a second time it is another: %v\n%s\n%s", seed, err, after, again)
		}
	}
}
