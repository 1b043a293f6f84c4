package surface_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/agent/surface"
)

var lines = map[string]struct{ text, want string }{
	"a sentence":               {"Reads a file.", "Reads a file."},
	"the first of two":         {"Reads a file. Use it often.", "Reads a file."},
	"no period":                {"Read a file", "Read a file"},
	"over lines":               {"Reads a\n  file from\tdisk. More.", "Reads a file from disk."},
	"a paragraph":              {"Read a file\n\nUse it often.", "Read a file"},
	"a heading":                {"# Read\n\nReads a file. More.", "Reads a file."},
	"only headings":            {"## Read a file\n### Really", "Read a file"},
	"a heading underlined":     {"Read\n====\nReads a file.", "Reads a file."},
	"a rule":                   {"Reads a file\n---\nparameters", "Reads a file"},
	"a list":                   {"- reads files\n- writes files", "reads files"},
	"a numbered list":          {"1. open it\n2. close it", "open it"},
	"a list after a colon":     {"Manages issues:\n\n- create.\n* close;\n\nMore.", "Manages issues: create; close"},
	"a list after a paragraph": {"Manages issues\n- create\n- close", "Manages issues"},
	"code first":               {"```\nread(x)\n```\nReads x.", "Reads x."},
	"code after":               {"Reads x\n```\nread(x)\n```", "Reads x"},
	"emphasis and a quote":     {"> **Reads** a file. More.", "Reads a file."},
	"a docstring":              {"Lists teams\n:param s: the sport", "Lists teams"},
	"another docstring":        {"Lists teams\nArgs:\n  s: the sport", "Lists teams"},
	"for example": {
		"Reads files, e.g. Markdown, i.e. text. More.", "Reads files, e.g. Markdown, i.e. text.",
	},
	"in brackets":                {"Reads (e.g. a file) at once. More.", "Reads (e.g. a file) at once."},
	"versus and and so on":       {"Compares A vs. B, etc. and more. Done.", "Compares A vs. B, etc. and more."},
	"and so on at the end":       {"Reads files, folders, etc. Use it.", "Reads files, folders, etc."},
	"a number":                   {"Uses version 1.5 of No. 7 always. More.", "Uses version 1.5 of No. 7 always."},
	"initials":                   {"Finds books by J. R. R. Tolkien. More.", "Finds books by J. R. R. Tolkien."},
	"a file name":                {"Reads package.json and .env files. More.", "Reads package.json and .env files."},
	"a question":                 {"Lost? Ask here.", "Lost?"},
	"dots":                       {"Waits... and goes on. More.", "Waits... and goes on."},
	"a quotation":                {`Says "hello." Then stops.`, `Says "hello."`},
	"Chinese":                    {"读取文件。然后返回内容。", "读取文件。"},
	"Japanese with a quotation":  {"「読む。」と言う。", "「読む。」"},
	"Hindi":                      {"फ़ाइल पढ़ता है। फिर लौटाता है।", "फ़ाइल पढ़ता है।"},
	"what cannot be seen":        {"\uFEFFReads\u0000 a\u200B file.", "Reads a file."},
	"nothing":                    {"", ""},
	"only marks":                 {"###\n- \n---\n>", ""},
	"windows line ends":          {"# T\r\n\r\nReads a file.\r\nMore.", "Reads a file."},
	"a channel is not a heading": {"#general is read. More.", "#general is read."},
	"cut after a word":           {strings.Repeat("word ", 40), strings.Repeat("word ", 30) + "word…"},
	"cut in one long word":       {strings.Repeat("x", 200), strings.Repeat("x", 157) + "…"},
	"cut without spaces":         {strings.Repeat("文", 100), strings.Repeat("文", 52) + "…"},
	"just long enough":           {strings.Repeat("x", 160), strings.Repeat("x", 160)},
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range lines {
		if got := surface.OneLine(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	for _, c := range lines {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := surface.OneLine(text)
		if len(line) > 160 || !utf8.ValidString(line) ||
			strings.ContainsAny(line, "\n\r\t\x00") || strings.TrimSpace(line) != line {
			t.Errorf("%q became %q", text, line)
		}
		if surface.OneLine(text) != line {
			t.Errorf("%q became two lines", text)
		}
	})
}
