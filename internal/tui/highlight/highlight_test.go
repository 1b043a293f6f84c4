package highlight_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/highlight"
)

// marked writes the class of each span before it.
func marked(spans []highlight.Span) string {
	names := map[highlight.Class]string{
		highlight.Comment: "comment", highlight.Keyword: "keyword", highlight.Name: "name", highlight.String: "string",
		highlight.Number: "number", highlight.Deleted: "deleted", highlight.Inserted: "inserted",
	}
	var b strings.Builder
	for _, s := range spans {
		if s.Class == highlight.Plain {
			b.WriteString(s.Text)
		} else {
			b.WriteString("<" + names[s.Class] + ":" + s.Text + ">")
		}
	}
	return b.String()
}

func TestCode(t *testing.T) {
	for _, c := range []struct{ name, language, code, want string }{
		{"no language", "", "func f() // x",
			"func f() // x"},
		{"an unknown one", "klingon", "if x",
			"if x"},
		{"Go", "go", "func f(s string) int { // x\n\treturn 0x1F + len(`a\nb`)\n}",
			"<keyword:func> <name:f>(s <keyword:string>) <keyword:int> { <comment:// x>\n" +
				"\t<keyword:return> <number:0x1F> + <name:len>(<string:`a\nb`>)\n}"},
		{"a name that holds a keyword", "go", "forage := interfaces",
			"forage := interfaces"},
		{"a string that is open", "go", "a := \"b\nc",
			"a := <string:\"b>\nc"},
		{"a comment that is open", "c", "int a; /* b\nc",
			"<keyword:int> a; <comment:/* b\nc>"},
		{"numbers", "js", "1.5e-3 a1 .5 0b11 1..2",
			"<number:1.5e-3> a1 .<number:5> <number:0b11> <number:1>..<number:2>"},
		{"Python", "Python", "def f(x):\n    '''a\n    b'''\n    return None  # c",
			"<keyword:def> <name:f>(x):\n    <string:'''a\n    b'''>\n    <keyword:return> <keyword:None>  <comment:# c>"},
		{"a shell", "bash", "echo \"$#\" $# # c",
			"<name:echo> <string:\"$#\"> $# <comment:# c>"},
		{"SQL", "sql", "SELECT count(*) FROM t -- c",
			"<keyword:SELECT> <name:count>(*) <keyword:FROM> t <comment:-- c>"},
		{"Rust", "rs", "fn f<'a>(x: &'a str)",
			"<keyword:fn> f<'a>(x: &'a <keyword:str>)"},
		{"JSON", "json", `{"a": ["b", -1.5, true]}`,
			`{<name:"a">: [<string:"b">, -<number:1.5>, <keyword:true>]}`},
		{"YAML", "yaml", "a: b # c\n- d: 'e'\n  f: 12\n# g\nh: true\nurl: http://x",
			"<name:a>: b <comment:# c>\n- <name:d>: <string:'e'>\n  <name:f>: <number:12>\n" +
				"<comment:# g>\n<name:h>: <keyword:true>\n<name:url>: http://x"},
		{"TOML", "toml", "[a.b]\nc = \"d\" # e",
			"<keyword:[a.b]>\n<name:c> = <string:\"d\"> <comment:# e>"},
		{"markup", "html", `<!-- a --><b class="c">d</b> 1 < 2`,
			`<comment:<!-- a -->><<name:b> class=<string:"c">>d</<name:b>> 1 < 2`},
		{"a diff", "diff", "--- a\n+++ b\n@@ -1 +1 @@\n-c\n+d\n e",
			"<comment:--- a>\n<comment:+++ b>\n<keyword:@@ -1 +1 @@>\n<deleted:-c>\n<inserted:+d>\n e"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, marked(highlight.Code(c.language, c.code))); d != "" {
				t.Error(d)
			}
		})
	}
}

// The spans are the code, whatever it holds.
func FuzzCode(f *testing.F) {
	for language := range strings.FieldsSeq("go python sh json yaml toml html diff sql lua js rust css") {
		f.Add(language, "a: 'b' \"c\" // d\n# e\n<f g=\"h\">`i` 1.5e+7 /* j")
	}
	f.Fuzz(func(t *testing.T, language, code string) {
		var b strings.Builder
		for _, s := range highlight.Code(language, code) {
			if s.Text == "" {
				t.Error("an empty span")
			}
			b.WriteString(s.Text)
		}
		if b.String() != code {
			t.Errorf("%q became %q", code, b.String())
		}
	})
}
