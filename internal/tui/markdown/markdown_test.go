package markdown_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/tui/markdown"
	"callgate/internal/tui/termtext"
)

// looks writes the colours of lines as names in braces, so that a test shows
// what a reader sees.
func looks(lines []string) string {
	names := strings.NewReplacer(
		"\x1b[m", "{}", "\x1b[1m", "{bold}", "\x1b[3m", "{italic}", "\x1b[1;3m", "{bold italic}", "\x1b[4m", "{link}",
		"\x1b[9m", "{strike}", "\x1b[36m", "{accent}", "\x1b[36;1m", "{heading}", "\x1b[36;1;3m", "{heading italic}",
		"\x1b[90m", "{quiet}", "\x1b[38;5;244m", "{comment}", "\x1b[38;5;68m", "{name}", "\x1b[38;5;65m", "{string}",
		"\x1b[38;5;136m", "{number}", "\x1b[38;5;131m", "{deleted}", "\x1b[38;5;71m", "{inserted}",
	)
	return names.Replace(strings.Join(lines, "\n"))
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"nothing", " \n\n", 40, ""},
		{"a paragraph keeps its line breaks", "one\n  two  \nthree\\\nfour", 40, "one\ntwo\nthree\nfour"},
		{"words are wrapped", "one two three four", 9, "one two\nthree\nfour"},
		{"spaces inside a line stay", "a.yaml  189 bytes", 40, "a.yaml  189 bytes"},
		{"a long word is broken", "abcdefghijkl", 5, "abcde\nfghij\nkl"},
		{"wide characters count twice", "世界 世界世界", 8, "世界\n世界世界"},
		{"a wide character that does not fit", "a世", 2, "a\n世"},
		{"emoji", "1️⃣ *️⃣ a*️⃣b* ❤️ *️", 40, "1️⃣ *️⃣ a*️⃣b* ❤️ *⟨U+FE0F⟩"},
		{"headings", "# One\n## Two ##\nSetext\n---", 40,
			"{heading}# One{}\n\n{heading}## Two{}\n\n{heading}## Setext{}"},
		{"markup in a heading", "# a *b* `c`", 40, "{heading}# a {}{heading italic}b{}{heading} `c`{}"},
		{"a heading is wrapped", "# one two", 7, "{heading}# one{}\n{heading}two{}"},
		{"no heading", "#tag\n####### seven", 40, "#tag\n####### seven"},
		{"emphasis", "*a* _b_ **c** __d__ ***e*** ~~f~~ **g *h* i**", 60,
			"{italic}a{} {italic}b{} {bold}c{} {bold}d{} {bold italic}e{} {strike}f{} " +
				"{bold}g {}{bold italic}h{}{bold} i{}"},
		{"no emphasis", "a * b, snake_case_name, 2*3*4 ** x, ~/dir", 60,
			"a * b, snake_case_name, 2{italic}3{}4 ** x, ~/dir"},
		{"escapes", `\*a\* \# \\ C:\dir`, 40, `*a* # \ C:\dir`},
		{"code in a line", "`a` ``b`c`` `*d*` `open", 40, "{accent}`a`{} {accent}`b`c`{} {accent}`*d*`{} `open"},
		{"entities", "&lt;b&gt; &copy; &amp;amp; &nothing; AT&T; &#59;", 60, "<b> © &amp; &nothing; AT&T; ;"},
		{"HTML is shown", "<b>bold</b> <!-- note -->", 40, "<b>bold</b> <!-- note -->"},
		{"a link", `[the *docs*](https://a.example/x_(1) "title")`, 60,
			"{bold}the {}{bold italic}docs{} {link}https://a.example/x_(1){}"},
		{"addresses", "<https://a.example> (https://b.example/a_b_c). www.c.example, " +
			"[https://d.example](https://d.example)", 99,
			"{link}https://a.example{} ({link}https://b.example/a_b_c{}). " +
				"{link}www.c.example{}, {link}https://d.example{}"},
		{"no link", "[x] (y) a[0](b [ref][1] http:// <a b>", 60, "[x] (y) a[0](b [ref][1] http:// <a b>"},
		{"an image", "![a picture](p.png)", 40, "image: a picture p.png"},
		{"a rule", "a\n\n***\nb", 40, "a\n\n{quiet}────────{}\n\nb"},
		{"a quote", "> one two three\n> - four\nlazy\n>> five", 11, "│ one two\n│ three\n│\n│ • four\n│   lazy\n│\n│ │ five"},
		{"lists", "- a\n  b\n  1. c\n  2. d\n- e", 40, "• a\n  b\n  1. c\n  2. d\n• e"},
		{"a list is wrapped under its text", "- one two three\n10. four five six", 11,
			"• one two\n  three\n\n10. four\n    five\n    six"},
		{"a list that begins elsewhere", "7. a\n7. b", 40, "7. a\n8. b"},
		{"a loose list of single lines", "- a\n\n- b", 40, "• a\n• b"},
		{"a list of several paragraphs", "- a\n\n  b\n- c", 40, "• a\n\n  b\n\n• c"},
		{"tasks", "- [ ] open\n- [x] done\n- [X] done", 40, "[ ] open\n[x] done\n[x] done"},
		{"no room for marks", "- a\n\n> b", 4, "•\na\n\n│\nb"},
		{"an empty item", "-\n- a", 40, "•\n• a"},
		{"a number in a paragraph", "In the year\n1984. It was", 40, "In the year\n1984. It was"},
		{"code", "```go\nfunc f() {\n\treturn 1 // x\n}\n```", 40,
			"  {accent}func{} {name}f{}() {\n      {accent}return{} {number}1{} {comment}// x{}\n  }"},
		{"code that is open", "~~~\na\n```", 40, "  a\n  ```"},
		{"code in a list", "1. a\n   ```\n   b\n   ```", 40, "1. a\n\n     b"},
		{"indented code", "    a\n\n     b", 40, "  a\n\n   b"},
		{"a diff", "```diff\n-a\n+b\n c\n```", 40, "  {deleted}-a{}\n  {inserted}+b{}\n   c"},
		{"a table", "a | b\n--|--:\n1 | **2**\n`x|y` | z", 40, " a  │  b │\n────┼────┼───\n 1  │  {bold}2{} │\n `x │ y` │ z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, looks(markdown.Lines(c.text, c.width))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"aligned", "| l | c | r |\n|:--|:-:|--:|\n| long | long | long |\n| a | b | c |", 40,
			" l    │  c   │    r\n──────┼──────┼──────\n long │ long │ long\n a    │  b   │    c"},
		{"the widest column is narrowed", "| id | text |\n|---|---|\n| 1234 | one two three four |", 18,
			" id   │ text\n──────┼───────────\n 1234 │ one two\n      │ three\n      │ four"},
		{"more cells than the head has", "|a|\n|-|\n|b|c|", 40, " a │\n───┼───\n b │ c"},
		{"fewer cells", "|a|b|\n|-|-|\n|c|", 40, " a │ b\n───┼───\n c │"},
		{"wide characters", "|世界|b|\n|-|-|\n|x|y|", 40, " 世界 │ b\n──────┼───\n x    │ y"},
		{"no room", "|abcdefgh|ijklmnop|\n|-|-|\n|c|d|", 12, "abcdefgh │\nijklmnop\nc │ d"},
		{"an escaped bar", "|a|\n|-|\n|b \\| c|", 40, " a\n───────\n b | c"},
		{"after a paragraph", "text\n|a|\n|-|", 40, "text\n\n a\n───"},
		{"no table", "a | b\nc | d", 40, "a | b\nc | d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, strings.Join(markdown.Lines(c.text, c.width), "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestLongTextIsShownAsItIs(t *testing.T) {
	text := "```\n" + strings.Repeat("a line of code\n", 5_000) + "```"
	lines := markdown.Lines(text, 80)
	if len(lines) < 5_000 || lines[1] != "a line of code" {
		t.Errorf("%d lines", len(lines))
	}
}

// Texts that make a careless parser look at everything again and again.
func TestTimeIsLinear(t *testing.T) {
	for _, piece := range []string{
		"*a ", "**a_b ", "a* ", "_a", "~~a ", "[", "[a](", "![", "]", "`", "` `` ", "<", "<a ", "&", "&a", "> ", "- ", "1. ",
		"  - a\n", "|", "|a\n|-\n", "http://a ", "http://a)", "www.", "\\", "世", "e\u0301",
		"\u0301", "x", " x", "# ", "~~~\n", "    a\n", "=\n", "a\n-\n", "[a](b \"",
	} {
		text := strings.Repeat(piece, 32_000/len(piece))
		begin := time.Now()
		markdown.Lines(text, 80)
		if took := time.Since(begin); took > 5*time.Second { // as a rule it takes a few milliseconds
			t.Errorf("%d times %q take %v", 32_000/len(piece), piece, took)
		}
	}
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func FuzzLines(f *testing.F) {
	f.Add("# a\n\n*b* `c` [d](e)\n\n- f\n  1. g\n\n> h\n\n```go\ni\n```\n\n|j|k|\n|-|-|\n|l|m|", 20)
	f.Add("a &#27;[2J <b> \\&#27; &amp;#27; `&#x9b;` \u202e \x1b[31m", 10)
	f.Add("- - - > - 1. > ```\n", 3)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if len(text) > 4_000 || width < 2 || width > 200 {
			t.Skip()
		}
		for _, line := range markdown.Lines(text, width) {
			if w := ansi.StringWidth(line); w > width {
				t.Errorf("%q is %d wide, in %d", line, w, width)
			}
			if bare := ansi.Strip(line); termtext.Safe(bare) != bare {
				t.Errorf("a terminal obeys %q", bare)
			}
			if rest := colour.ReplaceAllString(line, ""); strings.Contains(rest, "\x1b") {
				t.Errorf("%q holds more than colours", line)
			}
		}
	})
}

func BenchmarkGrowingCode(b *testing.B) {
	text := "```go\n" + strings.Repeat("func main() { fmt.Println(\"hello\") } // a comment\n", 150) + "```"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		markdown.Lines(text, 100)
	}
}

func BenchmarkProse(b *testing.B) {
	text := strings.Repeat("## Part\n\nSome **bold** words about `it`, and [more](https://example.com/1), which are "+
		"wrapped.\n\n- one\n- two\n\n", 75)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		markdown.Lines(text, 100)
	}
}
