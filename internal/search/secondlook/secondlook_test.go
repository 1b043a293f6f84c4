package secondlook_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"callgate/internal/search/embed"
	"callgate/internal/search/secondlook"
)

func model(t testing.TB) *embed.Static {
	t.Helper()
	m, err := embed.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// look returns what the second look adds for each tool.
func look(t testing.TB, request string, texts ...secondlook.Texts) []float32 {
	t.Helper()
	m := model(t)
	r, _ := secondlook.New(m, request, m.Embed(nil, request))
	tools := make([]*secondlook.Tool, len(texts))
	for i := range tools {
		tools[i] = new(secondlook.Tool)
	}
	points := make([]float32, len(texts))
	r.Add(points, tools, func(i int) secondlook.Texts { return texts[i] })
	return points
}

func TestWhatOneVectorCannotSay(t *testing.T) {
	t.Parallel()
	tests := []struct {
		request      string
		right, wrong secondlook.Texts
	}{
		{
			"rename a branch",
			secondlook.Texts{Name: "git rename_branch", Description: "Rename a branch of the repository."},
			secondlook.Texts{Name: "git list_branches", Description: "List the branches of the repository."},
		},
		{ // the word is in a parameter
			"messages since yesterday with an attachment",
			secondlook.Texts{Name: "mail list", Description: "List mail.", Params: []string{"since", "has_attachment"}},
			secondlook.Texts{Name: "mail list", Description: "List mail.", Params: []string{"folder", "limit"}},
		},
		{ // what the tool does is in its first sentence
			"translate a text",
			secondlook.Texts{Name: "run", Description: "Translates a text. It may also be asked to count words."},
			secondlook.Texts{Name: "run", Description: "Counts words of a document. It may also translate a text."},
		},
		{
			"supprimer un fichier",
			secondlook.Texts{Name: "files remove", Description: "Delete a file."},
			secondlook.Texts{Name: "files copy", Description: "Copy a file."},
		},
	}
	for _, tt := range tests {
		if p := look(t, tt.request, tt.right, tt.wrong); p[0] <= p[1] {
			t.Errorf("%q: %v for the right tool, %v for the wrong one", tt.request, p[0], p[1])
		}
	}
}

// However much a tool says, and in whatever text, the look adds at most ten
// points, never takes any, and reads little.
func TestBounds(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("delete remove file folder branch issue message ", 20_000)
	many := make([]string, 50_000)
	for i := range many {
		many[i] = fmt.Sprintf("parameter_%d", i)
	}
	texts := []secondlook.Texts{
		{},
		{Name: words, Description: words, Params: many},
		{Name: "\xff\xfe", Description: "\xf0\x9f", Params: []string{"\x80", ""}},
		{Description: strings.Repeat("。", 10_000)},
		{Name: "remove", Params: []string{words, words}},
	}
	for _, request := range []string{"", " ", "delete the file", words, "\xff", "🙂🙂", "删除文件"} {
		for i, p := range look(t, request, texts...) {
			if !(p >= 0 && p <= 10.01) {
				t.Errorf("%.20q: tool %d has %v points", request, i, p)
			}
		}
	}
}

// What a tool gains does not depend on the tools beside it, on its place, nor on
// how often it was looked at.
func TestEachToolIsLookedAtAlone(t *testing.T) {
	t.Parallel()
	var texts []secondlook.Texts
	for i := range 60 {
		texts = append(texts, secondlook.Texts{
			Name: fmt.Sprintf("server%d do_thing_%d", i%7, i), Description: strings.Repeat("Reads a page of the wiki. ", i%5+1),
			Params: []string{"page", fmt.Sprint("field", i%11)},
		})
	}
	const request = "read the wiki's page on holidays"
	together := look(t, request, texts...)
	var wg sync.WaitGroup
	for i := range texts {
		wg.Go(func() {
			if alone := look(t, request, texts[i]); alone[0] != together[i] {
				t.Errorf("tool %d: %v alone, %v among others", i, alone[0], together[i])
			}
		})
	}
	wg.Wait()
}

// Home is the mean over the request of the best piece, as it is said.
func TestHomeIsTheBestPiece(t *testing.T) {
	t.Parallel()
	m := model(t)
	const request, name = "close the ticket", "desk resolve issue"
	var home, weights float64
	for _, a := range m.Pieces(nil, request) {
		best := -1.0
		for _, b := range m.Pieces(nil, name) {
			best = max(best, cosine(m.ShortRow(a), m.ShortRow(b)))
		}
		home += float64(m.Length(a)) * best
		weights += float64(m.Length(a))
	}
	want := 6 * home / weights
	if got := look(t, request, secondlook.Texts{Name: name})[0]; math.Abs(float64(got)-want) > 1e-4 {
		t.Errorf("%v points, not %v", got, want)
	}
}

func cosine(a, b []int8) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func FuzzLook(f *testing.F) {
	f.Add("delete a file", "files.remove", "Deletes a file. For good.", "path recursive")
	f.Add("", "", "", "")
	f.Add("删除", "\xff", "。。。。。。。。。。。。", " ")
	f.Fuzz(func(t *testing.T, request, name, description, params string) {
		texts := secondlook.Texts{Name: name, Description: description, Params: strings.Split(params, " ")}
		if p := look(t, request, texts)[0]; !(p >= 0 && p <= 10.01) {
			t.Errorf("%v points", p)
		}
	})
}

// BenchmarkLook is a look at fifty tools that were read before, and at fifty new ones.
func BenchmarkLook(b *testing.B) {
	m := model(b)
	const request = "find all open issues that mention the login page and assign them to me"
	vector := m.Embed(nil, request)
	texts := make([]secondlook.Texts, 50)
	for i := range texts {
		texts[i] = secondlook.Texts{
			Name: fmt.Sprintf("tracker%d search_issues_%d", i, i),
			Description: fmt.Sprintf("Search the issues of project %d by words, state, assignee and label. Returns at most "+
				"a hundred issues with their number, title, author, creation date and comments, newest first.", i),
			Params: []string{"query", "state", "assignee", "labels", "sort_by", "page_size", fmt.Sprint("custom_", i)},
		}
	}
	for _, known := range []bool{true, false} {
		b.Run(map[bool]string{true: "known", false: "new"}[known], func(b *testing.B) {
			tools, points := make([]*secondlook.Tool, len(texts)), make([]float32, len(texts))
			fresh := func() {
				for i := range tools {
					tools[i] = new(secondlook.Tool)
				}
			}
			fresh()
			b.ReportAllocs()
			for b.Loop() {
				if !known {
					fresh()
				}
				r, _ := secondlook.New(m, request, vector)
				r.Add(points, tools, func(i int) secondlook.Texts { return texts[i] })
			}
		})
	}
}
