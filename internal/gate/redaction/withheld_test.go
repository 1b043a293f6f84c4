package redaction_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/artifact"
	"callgate/internal/gate/redaction"
	"callgate/tool"
)

// openArtifacts opens a store of artifacts in a new folder.
func openArtifacts(t *testing.T) *artifact.Store {
	t.Helper()
	store, err := artifact.Open(filepath.Join(t.TempDir(), "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// openBroken opens a store that cannot store anything.
func openBroken(t *testing.T) *artifact.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "artifacts")
	store, err := artifact.Open(dir)
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		err = os.WriteFile(dir, nil, 0o600) // a file in the place of the folder
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// stored returns the artifact that a result refers to; "" if it refers to none.
func stored(t *testing.T, from *artifact.Store, r *tool.Result) string {
	t.Helper()
	if r.ArtifactRef == "" {
		return ""
	}
	data, err := from.Get(t.Context(), r.ArtifactRef)
	if err != nil {
		t.Fatalf("the result refers to an artifact that cannot be read: %v", err)
	}
	return string(data)
}

func TestCheckArtifact(t *testing.T) {
	t.Parallel()
	artifacts := openArtifacts(t)
	ref, err := artifacts.Put(t.Context(), []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, ref, want string
		warnings        int
	}{
		{"none", "", "", 0},
		{"stored", ref, ref, 0},
		{"not stored", strings.Repeat("0", len(ref)), "", 1},
		{"no hash", "the whole text", "", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &tool.Result{ArtifactRef: test.ref}
			(&redaction.Redactor{Artifacts: artifacts}).CheckArtifact(r)
			if r.ArtifactRef != test.want || len(r.Warnings) != test.warnings {
				t.Errorf("ref %q, warnings %q; want ref %q and %d warnings", r.ArtifactRef, r.Warnings, test.want, test.warnings)
			}
		})
	}
}

func TestRepeatsPayload(t *testing.T) {
	t.Parallel()
	text := func(s string) []tool.Content { return []tool.Content{tool.Text(s)} }
	for _, test := range []struct {
		name   string
		result tool.Result
		want   bool
	}{
		{"no summary", tool.Result{Content: text("a")}, false},
		{"no payload", tool.Result{Summary: "done"}, false},
		{"the text", tool.Result{Summary: "a", Content: text("a")}, true},
		{"the beginning of the text", tool.Result{Summary: "a…", Content: text(" a b")}, true},
		{"the second text", tool.Result{Summary: "b", Content: append(text("a"), text("b")...)}, true},
		{"the data", tool.Result{Summary: `{"n": 1…`, Data: json.RawMessage(`{"n": 1, "m": 2}`)}, true},
		{"a word of the text", tool.Result{Summary: "found", Content: text("it found it")}, false},
		{"15 bytes within the text", tool.Result{Summary: "123456789012345", Content: text("x 123456789012345")}, false},
		{"16 bytes within the text", tool.Result{Summary: "1234567890123456", Content: text("x 1234567890123456")}, true},
		{"its own words", tool.Result{Summary: "three rows were found", Content: text("a\nb\nc")}, false},
	} {
		if got := redaction.RepeatsPayload(&test.result); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestDropPayload tests that a withheld payload is stored first, that the status word of the summary is the
// call's own, and that a summary or an error that repeats the payload goes with it.
func TestDropPayload(t *testing.T) {
	t.Parallel()
	const why = "the result is masked"
	const done, failed = "done; the answer is not shown", "failed; the answer is not shown"
	payload := []tool.Content{tool.Text("one "), {Type: "image", Data: []byte("two")}}
	broke := &tool.Error{Op: "op", Kind: tool.Busy, Message: "payload", Hint: "payload", Similar: []string{"payload"}}
	for _, test := range []struct {
		name     string
		result   tool.Result
		repeated bool
		want     tool.Result // without ArtifactRef
		stored   string
	}{
		{
			"text", tool.Result{Status: tool.Success, Summary: "two pieces", Content: payload}, false,
			tool.Result{Status: tool.Success, Summary: "two pieces", Warnings: []string{why}}, "one two",
		},
		{
			"text that the summary repeats", tool.Result{Status: tool.Success, Summary: "one", Content: payload}, true,
			tool.Result{Status: tool.Success, Summary: done, Warnings: []string{why}}, "one two",
		},
		{
			"text beside data", tool.Result{Status: tool.Success, Summary: "s", Content: payload, Data: json.RawMessage(`1`)}, false,
			tool.Result{Status: tool.Success, Summary: "s", Warnings: []string{why}}, "one two",
		},
		{
			"data", tool.Result{Status: tool.Success, Summary: "{", Data: json.RawMessage(`{"n":1}`)}, true,
			tool.Result{Status: tool.Success, Summary: done, Warnings: []string{why}}, `{"n":1}`,
		},
		{
			"a failure", tool.Result{Status: tool.Failure, Summary: "it broke", Data: json.RawMessage(`1`), Error: broke}, false,
			tool.Result{Status: tool.Failure, Summary: "it broke", Warnings: []string{why}, Error: broke}, "1",
		},
		{
			"a failure that repeats", tool.Result{Status: tool.Failure, Summary: "one", Content: payload, Error: broke}, true,
			tool.Result{
				Status: tool.Failure, Summary: failed, Warnings: []string{why},
				Error: &tool.Error{Op: "op", Kind: tool.Busy, Message: failed},
			}, "one two",
		},
		{
			"a refusal that repeats", tool.Result{Status: tool.Refused, Summary: "one", Content: payload}, true,
			tool.Result{Status: tool.Refused, Summary: failed, Warnings: []string{why}}, "one two",
		},
		{
			"no payload", tool.Result{Status: tool.Success, Summary: "done"}, true,
			tool.Result{Status: tool.Success, Summary: "done"}, "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			artifacts := openArtifacts(t)
			r := test.result
			(&redaction.Redactor{Artifacts: artifacts}).DropPayload(&r, test.repeated, why)
			if got := stored(t, artifacts, &r); got != test.stored {
				t.Errorf("stored %q, want %q", got, test.stored)
			}
			r.ArtifactRef = ""
			if diff := cmp.Diff(test.want, r); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("not stored", func(t *testing.T) {
		t.Parallel()
		r := tool.Result{Status: tool.Success, Summary: "s", Content: payload}
		(&redaction.Redactor{Artifacts: openBroken(t)}).DropPayload(&r, false, why)
		if len(r.Content) > 0 || r.ArtifactRef != "" || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "could not be stored") {
			t.Errorf("%+v", r)
		}
	})
}

// numbered returns lines of ten bytes: "line 0001\n".
func numbered(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&b, "line %04d\n", n)
	}
	return b.String()
}

// TestTruncate tests with a limit of 100 bytes which part of a result is shown, which is stored, and what the
// reader is told of it.
func TestTruncate(t *testing.T) {
	t.Parallel()
	const ref = "ref=call-1"
	text := func(s string) []tool.Content { return []tool.Content{tool.Text(s)} }
	data := func(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("d", size-2) + `"`) }
	long := strings.Repeat("é", 60) // 120 bytes
	cut := func(last, total, next int) *tool.Cut {
		return &tool.Cut{Unit: "lines", Last: last, Total: total, Next: ref + " offset=" + strconv.Itoa(next), Tool: "artifact.read"}
	}
	for _, test := range []struct {
		name     string
		result   tool.Result
		keepTail bool
		want     tool.Result // without ArtifactRef
		stored   string
	}{
		{
			name: "exactly the limit", result: tool.Result{Content: text(numbered(1, 10))},
			want: tool.Result{Content: text(numbered(1, 10))},
		},
		{
			name: "text and data, exactly the limit", result: tool.Result{Content: text(numbered(1, 8)), Data: data(20)},
			want: tool.Result{Content: text(numbered(1, 8)), Data: data(20)},
		},
		{
			name: "one byte more", result: tool.Result{Content: text(numbered(1, 10) + "x")},
			want:   tool.Result{Content: text(numbered(1, 10)), Cut: cut(10, 11, 11)},
			stored: numbered(1, 10) + "x",
		},
		{
			name: "a line that does not fit", result: tool.Result{Content: text(numbered(1, 20))},
			want:   tool.Result{Content: text(numbered(1, 10)), Cut: cut(10, 20, 11)},
			stored: numbered(1, 20),
		},
		{
			name: "small data leave less for the text", result: tool.Result{Content: text(numbered(1, 20)), Data: data(25)},
			want:   tool.Result{Content: text(numbered(1, 7)), Data: data(25), Cut: cut(7, 20, 8)},
			stored: numbered(1, 20),
		},
		{
			name: "data of more than a quarter go", result: tool.Result{Content: text(numbered(1, 20)), Data: data(26)},
			want:   tool.Result{Content: text(numbered(1, 10)), Cut: cut(10, 20, 11)},
			stored: numbered(1, 20),
		},
		{
			name: "the data alone are too long", result: tool.Result{Content: text(numbered(1, 10)), Data: data(90)},
			want:   tool.Result{Content: text(numbered(1, 10))},
			stored: strings.Repeat("d", 88),
		},
		{
			name: "data without text", result: tool.Result{Data: json.RawMessage(`"` + strings.ReplaceAll(numbered(1, 20), "\n", `\n`) + `"`)},
			want:   tool.Result{Content: text(numbered(1, 10)), Cut: cut(10, 20, 11)},
			stored: numbered(1, 20),
		},
		{
			name: "data that are indented", result: tool.Result{Data: json.RawMessage(`[` + strings.Repeat("1,", 60) + `1]`)},
			want: tool.Result{
				Content: text("[\n" + strings.Repeat(" 1,\n", 24)), Cut: cut(25, 63, 26),
			},
			stored: "[\n" + strings.Repeat(" 1,\n", 60) + " 1\n]",
		},
		{
			name: "two texts are joined", result: tool.Result{Content: append(text("first"), text(numbered(1, 20))...)},
			want:   tool.Result{Content: text("first\n" + numbered(1, 9)), Cut: cut(10, 21, 11)},
			stored: "first\n" + numbered(1, 20),
		},
		{
			name: "the end is shown too", keepTail: true, result: tool.Result{Content: text(numbered(1, 20))},
			want: tool.Result{
				Content: text(strings.TrimSuffix(numbered(1, 5), "\n") + "\n[lines 6–15 are left out]\n" + numbered(16, 20)),
				Cut: &tool.Cut{
					Unit: "lines", Last: 5, Tail: 16, Total: 20, Next: ref + " offset=6", Tool: "artifact.read",
				},
			},
			stored: numbered(1, 20),
		},
		{
			name: "a first line that is too long", result: tool.Result{Content: text(long)},
			want: tool.Result{
				Content: text(strings.Repeat("é", 50) + "…"),
				Cut:     &tool.Cut{Unit: "bytes", Last: 100, Total: 120, Next: ref, Tool: "artifact.read"},
			},
			stored: long,
		},
		{
			name: "a second line of more than half the limit", result: tool.Result{Content: text("short\n" + long + "\nend\n")},
			want: tool.Result{
				Content: text("short\n" + strings.Repeat("é", 47) + "…"), Cut: cut(1, 3, 2),
			},
			stored: "short\n" + long + "\nend\n",
		},
		{
			name: "a cut of the tool itself",
			result: tool.Result{
				Content: text(numbered(1, 20)), Cut: &tool.Cut{Unit: "lines", Last: 20, Total: 99, Next: "offset=21"},
			},
			want:   tool.Result{Content: text(numbered(1, 10)), Cut: cut(10, 21, 11)},
			stored: numbered(1, 20) + "[lines 1–20 of 99; continue with offset=21]\n",
		},
		{
			name: "a picture stays", result: tool.Result{
				Content: append([]tool.Content{tool.Image("image/png", []byte("p"))}, text(numbered(1, 20))...),
			},
			want: tool.Result{
				Content: append([]tool.Content{tool.Image("image/png", []byte("p"))}, text(numbered(1, 10))...), Cut: cut(10, 20, 11),
			},
			stored: numbered(1, 20),
		},
		{
			name: "half the limit is for resources", result: tool.Result{Content: []tool.Content{
				{Type: "resource", URI: "a:", Text: numbered(1, 3)}, {Type: "resource", URI: "b:", Text: numbered(4, 6)},
				tool.Text(numbered(7, 11)),
			}},
			want: tool.Result{
				Content: append([]tool.Content{{Type: "resource", URI: "a:", Text: numbered(1, 3)}}, text(numbered(4, 10))...),
				Cut:     cut(7, 8, 8),
			},
			stored: numbered(4, 11),
		},
		{
			name: "a description gives way to its sound", result: tool.Result{
				Content: []tool.Content{tool.Audio("audio/wav", []byte("w"), numbered(1, 20))},
			},
			want: tool.Result{
				Content: append([]tool.Content{{Type: "audio", MIME: "audio/wav", Data: []byte("w")}}, text(numbered(1, 10))...),
				Cut:     cut(10, 20, 11),
			},
			stored: numbered(1, 20),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			artifacts := openArtifacts(t)
			r := test.result
			(&redaction.Redactor{Artifacts: artifacts, Limit: 1}).Truncate(&r, 100, redaction.Cutting{Call: "call-1", KeepTail: test.keepTail})
			if got := stored(t, artifacts, &r); got != test.stored {
				t.Errorf("stored %q, want %q", got, test.stored)
			}
			r.ArtifactRef = ""
			if diff := cmp.Diff(test.want, r); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTruncateWithoutALimit tests that the kernel's limit holds for a tool without one.
func TestTruncateWithoutALimit(t *testing.T) {
	t.Parallel()
	r := tool.Result{Content: []tool.Content{tool.Text(numbered(1, 20))}}
	(&redaction.Redactor{Artifacts: openArtifacts(t), Limit: 50}).Truncate(&r, 0, redaction.Cutting{})
	if got := r.Content[0].Text; got != numbered(1, 5) {
		t.Errorf("%q", got)
	}
}

// TestTruncatedResultsReferToTheirOwnText tests that an artifact of the tool's own does not stand for the text that
// was cut, and that no reader is sent to an artifact that could not be stored.
func TestTruncatedResultsReferToTheirOwnText(t *testing.T) {
	t.Parallel()
	artifacts := openArtifacts(t)
	own, err := artifacts.Put(t.Context(), []byte("the tool's own"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		store *artifact.Store
		want  string
	}{
		{"stored", artifacts, numbered(1, 20)},
		{"not stored", openBroken(t), ""},
	} {
		r := tool.Result{Content: []tool.Content{tool.Text(numbered(1, 20))}, ArtifactRef: own}
		(&redaction.Redactor{Artifacts: test.store}).Truncate(&r, 100, redaction.Cutting{Call: "call-1"})
		if got := stored(t, artifacts, &r); got != test.want {
			t.Errorf("%s: the result refers to %q, want %q", test.name, got, test.want)
		}
		if isStored := test.want != ""; (r.Cut.Tool != "") != isStored || (r.Cut.Next != "") != isStored || (len(r.Warnings) == 0) != isStored {
			t.Errorf("%s: cut %+v, warnings %q", test.name, r.Cut, r.Warnings)
		}
	}
}

// TestFoldedLines tests that a reader learns why a long line counts as several.
func TestFoldedLines(t *testing.T) {
	t.Parallel()
	r := tool.Result{Content: []tool.Content{tool.Text("short\n" + strings.Repeat("x", 5000) + "\n")}}
	(&redaction.Redactor{Artifacts: openArtifacts(t)}).Truncate(&r, 3000, redaction.Cutting{Call: "call-1"})
	if r.Cut == nil || r.Cut.Last != 2 || r.Cut.Total != 4 || !strings.Contains(r.Cut.Advice, "counts as several") {
		t.Errorf("%+v", r.Cut)
	}
}
