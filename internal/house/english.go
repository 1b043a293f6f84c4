package house

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// words are the pronouns that stand where a reader needs a noun: the caller, the
// client, the holder of a lock.
var words = [...]string{"who", "whoever", "nobody"}

var word = regexp.MustCompile(`(?i)\b(` + strings.Join(words[:], "|") + `)\b`)

// wordCount is how often each of the words occurs.
type wordCount [len(words)]int

func (c *wordCount) addText(text string) {
	for _, found := range word.FindAllString(text, -1) {
		c[slices.Index(words[:], strings.ToLower(found))]++
	}
}

func (c *wordCount) add(o wordCount) {
	for i, n := range o {
		c[i] += n
	}
}

func (c wordCount) total() int {
	sum := 0
	for _, n := range c {
		sum += n
	}
	return sum
}

// english is what the report says about the text in the code.
type english struct {
	commentLines              int // of shipped code: lines that hold nothing but a comment
	comments, strings         wordCount
	testComments, testStrings wordCount
	rooms                     []count // words in the shipped code of a room, most first
}

func measureEnglish(t *Tree) english {
	var e english
	rooms := map[string]int{}
	for _, f := range t.Files {
		comments, literals := wordsOf(f)
		if f.Test {
			e.testComments.add(comments)
			e.testStrings.add(literals)
			continue
		}
		e.commentLines += commentLines(f)
		e.comments.add(comments)
		e.strings.add(literals)
		if n := comments.total() + literals.total(); n > 0 {
			rooms[roomOf(f.Folder)] += n
		}
	}
	for room, n := range rooms {
		e.rooms = append(e.rooms, count{room, n})
	}
	largestFirst(e.rooms)
	return e
}

// wordsOf counts the words in the comments of a file, and in its strings without
// import paths and struct tags.
func wordsOf(f File) (comments, literals wordCount) {
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			comments.addText(c.Text)
		}
	}
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				if text, err := strconv.Unquote(n.Value); err == nil {
					literals.addText(text)
				}
			}
		}
		return true
	})
	return comments, literals
}

// commentLines counts the lines of a file that hold nothing but a comment.
func commentLines(f File) int {
	n := 0
	for _, group := range f.Syntax.Comments {
		for _, c := range group.List {
			start := f.set.Position(c.Pos())
			before := f.Text[start.Offset-(start.Column-1) : start.Offset]
			if len(bytes.TrimSpace(before)) == 0 {
				n += f.lines(c)
			}
		}
	}
	return n
}
