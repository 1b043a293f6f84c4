package repo_test

import (
	"strings"
	"testing"
	"unicode"

	"callgate/internal/module/git/repo"
	"callgate/tool"
)

var names = []struct {
	text                     string
	revision, branch, remote bool // what it can be the name of
}{
	{"main", true, true, true},
	{"feature/login", true, true, false},
	{"v1.2", true, true, true},
	{"a..b", true, false, false},
	{"HEAD", true, false, true},
	{"HEAD~3", true, false, false},
	{"main@{1}", true, false, false},
	{"main@{upstream}", true, false, false},
	{"refs/heads/main", true, false, false},
	{"two words", true, false, false},
	{"star*", true, false, false},
	{`back\slash`, true, false, false},
	{"été", true, true, false},
	{"-d", false, false, false},
	{"--upload-pack=x", false, false, false},
	{"", false, false, false},
	{"a\nb", false, false, false},
	{"a\x00b", false, false, false},
	{"a\x7fb", false, false, false},
	{".hidden", true, true, false},
	{"https://example.com/x", true, false, false},
	{strings.Repeat("x", 101), true, true, false},
	{strings.Repeat("x", 201), true, false, false},
	{strings.Repeat("x", 1001), false, false, false},
}

func TestNames(t *testing.T) {
	for _, c := range names {
		if _, err := repo.Revision(op, c.text); (err == nil) != c.revision || err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%.20q as a revision: %v", c.text, err)
		}
		if _, err := repo.BranchName(op, c.text); (err == nil) != c.branch || err != nil && tool.KindOf(err) != tool.Invalid {
			t.Errorf("%.20q as a branch: %v", c.text, err)
		}
		if got := repo.IsRemote(c.text); got != c.remote {
			t.Errorf("%.20q as a remote: %v", c.text, got)
		}
	}
}

// FuzzNames: a name that is accepted is passed on as it is, and can be neither
// an option nor more than one word of a protocol.
func FuzzNames(f *testing.F) {
	for _, c := range names {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		harmless := func(name string) {
			control := strings.ContainsFunc(name, func(c rune) bool { return c < 0x80 && unicode.IsControl(c) })
			if name != text || name == "" || name[0] == '-' || control {
				t.Errorf("%q was accepted as %q", text, name)
			}
		}
		if name, err := repo.Revision(op, text); err == nil {
			harmless(name)
		}
		if name, err := repo.BranchName(op, text); err == nil {
			harmless(name)
		}
		if repo.IsRemote(text) {
			harmless(text)
		}
	})
}

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		name, log, text string
		kind            tool.Kind
		message, hint   string
	}{
		{"a lock", "fatal: Unable to create '/x/.git/index.lock': File exists.\n\nhint: again\n", "",
			tool.Busy, "git: Unable to create", "try again"},
		{"a revision", "fatal: bad revision 'x'\n", "", tool.NotFound, "git: bad revision 'x'", "git.branches"},
		{"changes in the way", "error: Your local changes would be overwritten by checkout:\n\ta.txt\nAborting\n", "",
			tool.Conflict, "a.txt; Aborting", "stash"},
		{"warnings are left out", "warning: x\nhint: y\nfatal: z\n", "", tool.Failed, "git: z", ""},
		{"only output", "", "said on stdout\n", tool.Failed, "git: said on stdout", ""},
		{"silence", "", "", tool.Failed, "git failed and said nothing", ""},
		{"the parts in another order", "File exists index.lock", "", tool.Failed, "git: File exists index.lock", ""},
	} {
		e := repo.Failure(op, &repo.Output{Log: c.log, Text: c.text, Code: 128})
		hinted := strings.Contains(e.Hint, c.hint) && (c.hint == "") == (e.Hint == "")
		if e.Op != op || e.Kind != c.kind || !strings.Contains(e.Message, c.message) || !hinted {
			t.Errorf("%s: %s, %q, %q", c.name, e.Kind, e.Message, e.Hint)
		}
	}
	if e := repo.Failure(op, &repo.Output{Log: strings.Repeat("x", 10_000)}); len(e.Message) > 700 {
		t.Errorf("a message of %d bytes", len(e.Message))
	}
}
