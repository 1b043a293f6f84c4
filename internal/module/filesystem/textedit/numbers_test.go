package textedit_test

import (
	"strings"
	"testing"

	"callgate/internal/module/filesystem/textedit"
)

// TestLineNumbersAreNoText: a model that copies what read showed is told so.
func TestLineNumbersAreNoText(t *testing.T) {
	t.Parallel()
	const file = "package a\n\nfunc A() {\n\treturn\n}\n10\tten\n"
	for _, test := range []struct {
		name string
		edit textedit.Edit
		want string // in the error; "": it is made
	}{
		{"as read writes", textedit.Edit{Op: textedit.Replace, Old: "     3\tfunc A() {\n     4\t\treturn\n", New: "x"}, "at line 3"},
		{"one line, without spaces", textedit.Edit{Op: textedit.Replace, Old: "3\tfunc A() {", New: "x"}, "line numbers"},
		{"with an arrow", textedit.Edit{Op: textedit.Replace, Old: "     3→func A() {\n     4→\treturn\n", New: "x"}, "at line 3"},
		{"as grep writes", textedit.Edit{Op: textedit.Replace, Old: "3:func A() {", New: "x"}, "at line 3"},
		{"wrong all the same", textedit.Edit{Op: textedit.Replace, Old: "     3\tfunc B() {\n", New: "x"}, "seems to contain line numbers"},
		{"in new alone", textedit.Edit{Op: textedit.Replace, Old: "func A", New: "     3\tfunc B"}, "new seems to contain"},
		{"in inserted lines", textedit.Edit{Op: textedit.Insert, Line: 1, New: "     1\t// a\n     2\t// b\n"}, "new seems to contain"},
		{"a number that is text", textedit.Edit{Op: textedit.Replace, Old: "10\tten", New: "11\televen"}, ""},
		{"numbers that are text", textedit.Edit{Op: textedit.Insert, Line: 1, New: "1\tone\n2\ttwo\n"}, ""},
	} {
		_, err := textedit.Plan([]byte(file), []textedit.Edit{test.edit})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestEditsThatBuildOnOthers: a list in which an edit refers to what the one before it
// wrote is made in order.
func TestEditsThatBuildOnOthers(t *testing.T) {
	t.Parallel()
	const file = "a := 1\nb := 2\n"
	replace := func(old, new string) textedit.Edit { return textedit.Edit{Op: textedit.Replace, Old: old, New: new} }
	for _, test := range []struct {
		edits []textedit.Edit
		want  string
	}{
		{[]textedit.Edit{replace("a := 1", "c := 1"), replace("c := 1", "c := 3")}, "c := 3\nb := 2\n"},
		{[]textedit.Edit{replace("a := 1\n", "a := 1\nx\n"), replace("x\nb", "y\nb")}, "a := 1\ny\nb := 2\n"},
		{[]textedit.Edit{replace("1", "2"), replace("2", "3")}, "a := 2\nb := 3\n"}, // as it was, where that is clear
	} {
		if got, err := edited(file, test.edits...); err != nil || got != test.want {
			t.Errorf("%v: %q, %v", test.edits, got, err)
		}
	}
	if _, err := textedit.Plan([]byte(file), []textedit.Edit{replace("a", "x"), replace("nowhere", "y")}); err == nil {
		t.Error("an edit that finds nothing either way was made")
	}
}
