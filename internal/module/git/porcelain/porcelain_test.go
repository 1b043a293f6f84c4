package porcelain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/git/porcelain"
)

const (
	id1 = "1111111111111111111111111111111111111111"
	id2 = "2222222222222222222222222222222222222222"
)

// nul joins records as Git ends them.
func nul(records ...string) string { return strings.Join(records, "\x00") + "\x00" }

var names = map[string]string{
	"a/b.go":         "a/b.go",
	"été ☕.txt":      "été ☕.txt",
	"two words":      "two words",
	"back\\slash":    "back\\slash",
	"a\nb":           `"a\nb"`,
	"tab\t\"q\"":     `"tab\t\"q\""`,
	`"quoted"`:       `"\"quoted\""`,
	"bad\xff\xfe\\x": `"bad\377\376\\x"`,
	"\x1b[31m":       `"\033[31m"`,
	"c1\u0085":       `"c1\302\205"`,
	"-rf":            "-rf",
	"":               "",
}

func TestNames(t *testing.T) {
	for raw, shown := range names {
		if got := porcelain.Name(raw).String(); got != shown {
			t.Errorf("%q is shown as %s, want %s", raw, got, shown)
		}
		if back, err := porcelain.ParseName(shown); err != nil || string(back) != raw {
			t.Errorf("%s reads back as %q, %v; want %q", shown, back, err, raw)
		}
	}
	for _, bad := range []string{`"`, `"a`, `"a"b"`, `"\q"`, `"\40"`, `"\`} {
		if got, err := porcelain.ParseName(bad); err == nil {
			t.Errorf("%s was read as %q", bad, got)
		}
	}
}

func FuzzName(f *testing.F) {
	for raw, shown := range names {
		f.Add(raw)
		f.Add(shown)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := porcelain.Name(text).String()
		if !utf8.ValidString(shown) || strings.ContainsAny(shown, "\n\x00\x1b") {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if back, err := porcelain.ParseName(shown); err != nil || string(back) != text {
			t.Errorf("%q reads back as %q, %v", shown, back, err)
		}
		_, _ = porcelain.ParseName(text)
	})
}

var statusText = nul(
	"# branch.oid "+id1, "# branch.head main", "# branch.upstream origin/main", "# branch.ab +2 -1", "# stash 3",
	"1 .M N... 100644 100644 100644 "+id1+" "+id2+" a file",
	"2 R. N... 100644 100644 100644 "+id1+" "+id2+" R100 new\nname", "old",
	"u UU N... 100644 100644 100644 100644 "+id1+" "+id1+" "+id2+" torn",
	"1 M. SC.. 160000 160000 160000 "+id1+" "+id2+" lib", "? \xff", "! out/")

func TestStatus(t *testing.T) {
	want := &porcelain.Status{
		Branch: "main", Head: id1, Upstream: "origin/main", Ahead: 2, Behind: 1, Tracked: true, Stashes: 3,
		Changes: []porcelain.Change{
			{Path: "a file", Staged: '.', Unstaged: 'M', Kind: porcelain.Ordinary},
			{Path: "new\nname", From: "old", Staged: 'R', Unstaged: '.', Kind: porcelain.Renamed},
			{Path: "torn", Staged: 'U', Unstaged: 'U', Kind: porcelain.Unmerged},
			{Path: "lib", Staged: 'M', Unstaged: '.', Kind: porcelain.Ordinary, Module: true},
			{Path: "\xff", Staged: '.', Unstaged: '.', Kind: porcelain.Untracked},
			{Path: "out/", Staged: '.', Unstaged: '.', Kind: porcelain.Ignored},
		},
	}
	got, err := porcelain.ParseStatus(statusText)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{
		"? x", nul("z x"), nul("1 .M N... 100644 a"), nul("2 R. N... 1 1 1 a b R100 new"), nul("1"), nul("u UU"),
	} {
		if got, err := porcelain.ParseStatus(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

var (
	commitText = nul(id1, id2+" "+id1, "A\xff", "a@b", "2026-01-02T03:04:05Z", "C", "2026-01-03T03:04:05Z",
		"HEAD -> main, tag: v1", "subject\n\nbody\nmore\n")
	numstatText = nul("2\t0\tb", "-\t-\tbin", "0\t1\t", "a", "c", "") +
		"diff --git a/b b/b\n+x\n diff --git no\ndiff --git a/bin b/bin\nBinary\n"
)

func TestCommits(t *testing.T) {
	want := []porcelain.Commit{{
		ID: id1, Parents: []string{id2, id1}, Author: "A\uFFFD", Email: "a@b", Date: "2026-01-02T03:04:05Z",
		Committer: "C", Committed: "2026-01-03T03:04:05Z",
		Refs: []string{"HEAD -> main", "tag: v1"}, Subject: "subject", Body: "body\nmore",
	}}
	got, err := porcelain.ParseCommits(commitText)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{
		"x", nul("x"), nul("", "", "", "", "", "", "", "", ""), strings.TrimSuffix(commitText, "\x00"),
	} {
		if got, err := porcelain.ParseCommits(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func TestNumstat(t *testing.T) {
	want := []porcelain.File{{Path: "b", Added: 2}, {Path: "bin", Binary: true}, {Path: "c", From: "a", Deleted: 1}}
	got, patch, err := porcelain.CutNumstat(numstatText)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	sections := []string{"diff --git a/b b/b\n+x\n diff --git no\n", "diff --git a/bin b/bin\nBinary\n"}
	if diff := cmp.Diff(sections, porcelain.Sections(patch)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"1", nul("1\t2"), nul("x\t2\ta"), nul("1\t2\t", "a"), nul("1\t2\t", "", "b")} {
		if got, _, err := porcelain.CutNumstat(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

const blameText = id1 + " 1 1 2\nauthor A\nauthor-mail <a@b>\nauthor-time 1767323045\nauthor-tz +0200\n" +
	"summary s\nfilename f\n\tone\n" + id1 + " 2 2\n\t\ttwo\n"

func TestBlame(t *testing.T) {
	want := &porcelain.Blame{
		Commits: map[string]*porcelain.Origin{
			id1: {Author: "A", Email: "a@b", Date: "2026-01-02T05:04:05+02:00", Subject: "s"},
		},
		Lines: []porcelain.Line{{Number: 1, Commit: id1, Text: "one"}, {Number: 2, Commit: id1, Text: "\ttwo"}},
	}
	got, err := porcelain.ParseBlame(blameText)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{"\tx\n", "x 1 1\n\ta\n", id1 + " 1 x\n\ta\n", id1 + " 1 1\n"} {
		if got, err := porcelain.ParseBlame(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

var refsText = nul("refs/heads/main", id1, "refs/remotes/origin/main", "ahead 1", "2026-01-02T03:04:05Z", "*", "", "s") +
	"\n" +
	nul("refs/remotes/origin/HEAD", id1, "", "", "2026-01-02T03:04:05Z", " ", "refs/remotes/origin/main", "s") + "\n"

func TestRefs(t *testing.T) {
	want := []porcelain.Ref{
		{
			Name: "refs/heads/main", ID: id1, Upstream: "refs/remotes/origin/main", Track: "ahead 1",
			Date: "2026-01-02T03:04:05Z", Current: true, Subject: "s",
		},
		{
			Name: "refs/remotes/origin/HEAD", ID: id1, Date: "2026-01-02T03:04:05Z",
			Symbolic: "refs/remotes/origin/main", Subject: "s",
		},
	}
	got, err := porcelain.ParseRefs(refsText)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := porcelain.ParseRefs("heads/x"); err == nil {
		t.Errorf("read as %+v", got)
	}
}

func TestObjects(t *testing.T) {
	got, found, err := porcelain.ParseObject(id1 + " blob 5\nhello\n")
	if want := (porcelain.Object{ID: id1, Type: "blob", Size: 5, Content: "hello"}); err != nil || !found || got != want {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	if got, found, err := porcelain.ParseObject(id1 + " blob 500\nhel"); err != nil || !found || got.Content != "hel" {
		t.Errorf("cut short: %+v, %v, %v", got, found, err)
	}
	if _, found, err := porcelain.ParseObject("HEAD:a b missing\n"); err != nil || found {
		t.Errorf("missing: %v, %v", found, err)
	}
	if _, _, err := porcelain.ParseObject("x blob -1\n"); err == nil {
		t.Error("a bad header was read")
	}
	tree, err := porcelain.ParseTree("100644 a\x00"+strings.Repeat("\x00", 20)+"40000 b c\x00"+strings.Repeat("x", 20), 20)
	if diff := cmp.Diff([]porcelain.TreeEntry{{"100644", "a"}, {"40000", "b c"}}, tree); err != nil || diff != "" {
		t.Error(err, diff)
	}
	attributes, err := porcelain.ParseAttributes(
		nul("a", "filter", "lfs", "b", "filter", "unspecified", "c", "filter", "set"))
	if diff := cmp.Diff(map[porcelain.Name]string{"a": "lfs"}, attributes); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// FuzzParsers gives every parser the same bytes: whatever they are, a parser
// answers or says no.
func FuzzParsers(f *testing.F) {
	for _, text := range []string{
		statusText, commitText, numstatText, blameText, refsText, id1 + " blob 5\nhello\n",
		"100644 a\x00" + strings.Repeat("\x00", 20), nul("a", "filter", "lfs"),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data string) {
		_, _ = porcelain.ParseStatus(data)
		_, _ = porcelain.ParseCommits(data)
		_, _ = porcelain.ParseBlame(data)
		_, _ = porcelain.ParseRefs(data)
		_, _, _ = porcelain.ParseObject(data)
		_, _ = porcelain.ParseTree(data, 20)
		_, _ = porcelain.ParseAttributes(data)
		_, _ = porcelain.ParseStashes(data)
		if files, rest, err := porcelain.CutNumstat(data); err == nil && len(files) > 0 && len(rest) >= len(data) {
			t.Errorf("%d files were read out of nothing", len(files))
		}
		if got := strings.Join(porcelain.Sections(data), ""); got != data {
			t.Errorf("the sections of %q are %q", data, got)
		}
	})
}
