package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"callgate/internal/search"
	"callgate/tool"
)

// office is a catalog in which a request for two things finds many tools for one of them.
func office(t testing.TB) *search.Catalog {
	all := fixture()
	for i, what := range []string{"draft", "template", "signature", "folder", "filter", "alias", "label", "thread"} {
		all = append(all, makeTool("mail."+what, fmt.Sprintf("Change the %s of an e-mail that is sent to somebody, case %d.", what, i), tool.Runtime{}))
	}
	return catalog(t, search.New(search.Options{Embedder: builtin(t)}), all)
}

func TestRequestsForTwoThings(t *testing.T) {
	t.Parallel()
	c := office(t)
	tests := []struct {
		query string
		want  []string
		said  bool // which part found a tool
	}{
		{
			"send an e-mail to Ann with the draft of the letter, and then show me the weather of the coming days in Lyon",
			[]string{"mail.send", "weather.forecast"}, true,
		},
		{
			"envoie un e-mail à Anne avec le brouillon, puis montre-moi la météo des prochains jours à Lyon",
			[]string{"mail.send", "weather.forecast"}, false,
		},
		{"给安发一封电子邮件，然后告诉我里昂未来几天的天气", []string{"mail.send", "weather.forecast"}, false},
	}
	for _, tt := range tests {
		found := find(t, c, search.Request{Queries: []string{tt.query}}).Answers[0]
		for _, want := range tt.want {
			at := slices.Index(names(found), want)
			if at < 0 || at > 4 {
				t.Errorf("%q finds %v, and %s not among the first five", tt.query, names(found), want)
			}
		}
		if tt.said && !slices.ContainsFunc(found.Hits, func(h search.Hit) bool {
			return h.Part != "" && strings.Contains(tt.query, h.Part) && strings.Contains(h.Why(), "for "+fmt.Sprintf("%q", h.Part))
		}) {
			t.Errorf("%q: no tool says which part it is for", tt.query)
		}
	}
	for _, query := range []string{"send an e-mail to Ann and Bob", "delete the old file and the folder"} {
		for _, h := range find(t, c, search.Request{Queries: []string{query}}).Answers[0].Hits {
			if h.Part != "" {
				t.Errorf("%q asks for one thing, and %s is for %q", query, h.Tool.ID, h.Part)
			}
		}
	}
}

// Pages of a request for several things follow each other without a gap and
// without a repetition, and scores never rise.
func TestPagesOfRequestsForTwoThings(t *testing.T) {
	t.Parallel()
	c := office(t)
	const query = "send an e-mail to Ann with the draft of the letter, and then show me the weather of the coming days in Lyon"
	whole := find(t, c, search.Request{Queries: []string{query}, Limit: 50}).Answers[0]
	var paged []string
	for offset := 0; offset < len(whole.Hits); offset += 3 {
		paged = append(paged, names(find(t, c, search.Request{Queries: []string{query}, Limit: 3, Offset: offset}).Answers[0])...)
	}
	if !slices.Equal(paged, names(whole)) {
		t.Errorf("pages: %v\nwhole: %v", paged, names(whole))
	}
	for i := 1; i < len(whole.Hits); i++ {
		if whole.Hits[i].Score > whole.Hits[i-1].Score {
			t.Errorf("hit %d has %v, more than %v before it", i, whole.Hits[i].Score, whole.Hits[i-1].Score)
		}
	}
	if slices.Sort(paged); len(slices.Compact(paged)) != len(whole.Hits) {
		t.Errorf("a tool is there twice: %v", paged)
	}
}

// Without a limit a few more than five are shown where they are as good; with one, never more.
func TestCloseScoresBelongTogether(t *testing.T) {
	t.Parallel()
	var all []*tool.Tool
	for i := range 12 {
		all = append(all, makeTool(fmt.Sprintf("cam%d.snap", i), "Take a picture with the camera.", tool.Runtime{}))
	}
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), all)
	for limit, want := range map[int]int{0: 8, 5: 5, 1: 1} {
		if n := len(find(t, c, search.Request{Queries: []string{"take a picture"}, Limit: limit}).Answers[0].Hits); n != want {
			t.Errorf("limit %d: %d tools", limit, n)
		}
	}
	apart := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	if n := len(find(t, apart, search.Request{Queries: []string{"delete a file"}}).Answers[0].Hits); n > 5 {
		t.Errorf("%d tools for one thing", n)
	}
}

// Values say what a call is about, not which tool it wants.
func TestValuesAreQuieted(t *testing.T) {
	t.Parallel()
	all := append(fixture(),
		makeTool("shop.weather_stickers", "Buy stickers of the weather: forecast, storm, rain.", tool.Runtime{}))
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), all)
	for _, query := range []string{
		"delete /home/ann/lyon/weather-forecast.csv for good",
		"delete the file 'weather forecast of storm and rain' for good",
	} {
		if found := names(find(t, c, search.Request{Queries: []string{query}}).Answers[0]); found[0] != "files.remove" {
			t.Errorf("%q finds %v", query, found)
		}
	}
}

// Recent use orders tools, but makes no good answer of a bad one.
func TestUseIsNoAnswer(t *testing.T) {
	t.Parallel()
	all := fixture()
	used := map[string]int{}
	for _, tl := range all {
		used[tl.ID.Dotted()] = 6
	}
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), all)
	for _, query := range []string{"qwzx vbnm", "who painted the ceiling of that chapel"} {
		r := search.Request{Queries: []string{query}}
		before := find(t, c, r).Unmatched
		r.Used = used
		if after := find(t, c, r).Unmatched; len(before) != 1 || len(after) != 1 {
			t.Errorf("%q: unmatched %v, and with use %v", query, before, after)
		}
	}
}

// What a user's own searches taught is marked, so that a model is not told another project's words.
func TestPrivateExamplesAreMarked(t *testing.T) {
	t.Parallel()
	x := search.New(search.Options{Embedder: builtin(t)})
	for _, private := range []bool{true, false} {
		c, err := x.Catalog(t.Context(), fixture(), search.Examples{
			ByTool: map[string][]string{"db.query": {"what did we sell on Monday"}}, Private: private,
		})
		if err != nil {
			t.Fatal(err)
		}
		h := hit(t, c, "what did we sell on Monday", "db.query")
		if h.Like == "" || h.Private != private {
			t.Errorf("private %v: like %q, %v", private, h.Like, h.Private)
		}
	}
}
