package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/cli"
)

// docPages are the pages with commands that a reader types. CLI.md is made from the code, and
// scripts/installguide.sh runs install.md.
func docPages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"*.md", filepath.Join("guides", "*.md")} {
		found, err := filepath.Glob(filepath.Join(root, "docs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	return slices.DeleteFunc(pages, func(p string) bool {
		return filepath.Base(p) == "CLI.md" || filepath.Base(p) == "install.md"
	})
}

// block is a fenced block of a page.
type block struct {
	mark, words string // of a comment before it: "file" and a path, or "not run" and why
	language    string
	text        string
}

// fenced is a block: the mark and its words, the indent of the fence, the language, the text.
var fenced = regexp.MustCompile("(?ms)^(?: *<!-- (file|not run): ([^\n]*) -->\n)?( *)```([a-z]+)\n(.*?)^ *```$")

func blocksOf(text string) []block {
	var all []block
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		all = append(all, blockOf(m))
	}
	return all
}

func blockOf(m []string) block {
	return block{m[1], m[2], m[4], strings.ReplaceAll("\n"+m[5], "\n"+m[3], "\n")[1:]}
}

// commands reports whether a block has commands, and not a script that is a file.
func (b block) commands() bool {
	return (b.language == "console" || b.language == "sh" || b.language == "bash") && !strings.HasPrefix(b.text, "#!")
}

func (b block) runs() bool { return b.commands() && b.mark != "not run" }

// lines are the commands of a block.
func (b block) lines() []string {
	var all []string
	if b.language == "console" {
		for step := range strings.SplitSeq("\n"+strings.TrimSuffix(b.text, "\n"), "\n$ ") {
			if line, _ := firstLine(step); line != "" {
				all = append(all, line)
			}
		}
		return all
	}
	for line := range strings.Lines(b.text) {
		line = strings.TrimSuffix(line, "\n")
		if n := len(all); n > 0 && (strings.HasSuffix(all[n-1], `\`) || strings.HasSuffix(all[n-1], "|")) {
			all[n-1] += "\n" + line
		} else if !strings.HasPrefix(strings.TrimSpace(line), "#") && strings.TrimSpace(line) != "" {
			all = append(all, line)
		}
	}
	return all
}

// firstLine cuts a command, with the document that it may have in it, from what it says.
func firstLine(step string) (line, said string) {
	line, said, _ = strings.Cut(step, "\n")
	if strings.Contains(line, "<<'EOF'") {
		document, rest, _ := strings.Cut(said, "\nEOF")
		line, said = line+"\n"+document+"\nEOF", strings.TrimPrefix(rest, "\n")
	}
	if said != "" {
		said += "\n"
	}
	return line, said
}

var (
	// unfenced is a command in a block that says no language: nothing would run it.
	unfenced = regexp.MustCompile("(?m)^(?:    +|```\n)(?:\\$ )?callgate [a-z][^─\n]*$")
	inline   = regexp.MustCompile("`(callgate [^`]+)`")
)

// TestCommandsOfDocs holds every command of the pages against the tree of commands: in blocks that
// are run, in blocks that are not, and within sentences. A block that is not run says why.
func TestCommandsOfDocs(t *testing.T) {
	t.Parallel()
	notRun, checked := 0, 0
	for _, file := range append(docPages(t), filepath.Join("..", "..", "docs", "guides", "install.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, page := string(data), filepath.Base(file)
		if found := unfenced.FindString(fenced.ReplaceAllString(text, "")); found != "" {
			t.Errorf("%s: a command in a block without a language: %q", page, found)
		}
		for _, b := range blocksOf(text) {
			if b.mark == "not run" {
				notRun++
				if !b.commands() || len(b.words) < len("needs root") {
					t.Errorf("%s: this block is marked as not run, because %q:\n%s", page, b.words, b.text)
				}
			}
			if b.commands() {
				for _, line := range b.lines() {
					checked += checkLine(t, page, line)
				}
			}
		}
		for _, m := range inline.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
			if !strings.Contains(m[1], "…") {
				checked += checkLine(t, page, m[1])
			}
		}
	}
	if checked < 600 {
		t.Errorf("only %d commands: the pattern is broken", checked)
	}
	if notRun > maxNotRun {
		t.Errorf("%d blocks of the documentation are not run, more than %d", notRun, maxNotRun)
	}
	t.Logf("%d commands, %d blocks that are not run", checked, notRun)
}

// maxNotRun bounds the blocks that are not run. Lower it when one is; think twice before raising it.
const maxNotRun = 34 // the last two: benchmarks of a cluster, and what needs the token of a user

// checkLine looks at each call of the program in a line of shell.
func checkLine(t *testing.T, page, line string) (calls int) {
	t.Helper()
	parsed, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Errorf("%s: %s: %v", page, line, err)
		return 0
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "callgate" {
			return true
		}
		calls++
		var words []string
		for _, w := range call.Args[1:] {
			words = append(words, wordText(w))
		}
		err := cli.CheckCommand(words)
		if err != nil && strings.HasPrefix(err.Error(), "flag needs an argument") {
			err = cli.CheckCommand(append(words, "1")) // a sentence names the flag alone
		}
		if err != nil {
			t.Errorf("%s: %s: %v", page, line, err)
		}
		return true
	})
	return calls
}

// wordText is a word without its quotes.
func wordText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(wordText(&syntax.Word{Parts: p.Parts}))
		default:
			b.WriteByte('x')
		}
	}
	return b.String()
}
