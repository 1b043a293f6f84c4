package house

import (
	"reflect"
	"testing"
)

func TestWords(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       english
	}{
		"each word": {"a/a.go", "// Who asks; whoever knows; nobody.", english{
			commentLines: 1, comments: wordCount{1, 1, 1}, rooms: []count{{"a", 3}}}},
		"parts of words": {"a/a.go", "// A whole whoop, whom, whose, anybody, nobodys.", english{commentLines: 1}},
		"beside punctuation": {"a/a.go", "// (who) \"who\" who's WHO", english{
			commentLines: 1, comments: wordCount{4, 0, 0}, rooms: []count{{"a", 4}}}},
		"a string": {"a/a.go", `var x = "ask\nwho" + "nobody"`, english{
			strings: wordCount{1, 0, 1}, rooms: []count{{"a", 2}}}},
		"a raw string": {"a/a.go", "var x = `whoever`", english{strings: wordCount{0, 1, 0}, rooms: []count{{"a", 1}}}},
		"a rune":       {"a/a.go", "var x = 'w'", english{}},
		"an import":    {"a/a.go", `import "m/who"`, english{}},
		"a struct tag": {"a/a.go", "type x struct { y int `json:\"who\"` }", english{}},
		"a name":       {"a/a.go", "var who = nobody", english{}},
		"a comment in a test": {"a/a_test.go", "// who", english{
			testComments: wordCount{1, 0, 0}}},
		"a string in a test": {"a/a_test.go", `var x = "nobody"`, english{testStrings: wordCount{0, 0, 1}}},
		"a room":             {"internal/a/b/c.go", `var x = "who"`, english{strings: wordCount{1, 0, 0}, rooms: []count{{"internal/a", 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := measureEnglish(tree(t, map[string]string{c.file: "package a\n" + c.text})); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("the rooms with the most first", func(t *testing.T) {
		got := measureEnglish(tree(t, map[string]string{
			"a/a.go": "package a // who", "internal/b/c/a.go": "package c // who", "internal/b/a.go": "package b // who",
		}))
		if want := []count{{"internal/b", 2}, {"a", 1}}; !reflect.DeepEqual(got.rooms, want) {
			t.Errorf("got %v, want %v", got.rooms, want)
		}
	})
}

func TestCommentLines(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"none":                     {"var x = 1", 0},
		"two lines":                {"// One.\n// Two.\nvar x = 1", 2},
		"inside a function":        {"func f() {\n\t// One.\n}", 1},
		"after code":               {"var x = 1 // One.", 0},
		"a block":                  {"/* One.\n\nThree. */", 3},
		"a block after code":       {"var x = 1 /* One.\nTwo. */", 0},
		"an empty line of comment": {"// One.\n//\n// Three.", 3},
		"a string":                 {"var x = `\n// no comment\n`", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := measureEnglish(tree(t, map[string]string{"a/a.go": "package a\n" + c.text})).commentLines; got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
