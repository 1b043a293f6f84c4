package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/search"
	"callgate/tool"
)

func makeTool(dotted, description string, r tool.Runtime, tags ...string) *tool.Tool {
	namespace, name, err := tool.ParseDotted(dotted)
	if err != nil {
		panic(err)
	}
	return &tool.Tool{
		ID: tool.ID{Namespace: namespace, Name: name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Name: dotted, Description: description, Tags: tags,
			Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where it lies"}}}`),
		},
		Runtime: r,
	}
}

func fixture() []*tool.Tool {
	read := tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}
	write := tool.Runtime{Risk: tool.High, SideEffect: tool.Write}
	return []*tool.Tool{
		makeTool("files.read", "Read the text of a file.", read, "text"),
		makeTool("files.remove", "Delete a file or a folder for good.", write),
		makeTool("mail.send", "Send an e-mail to somebody.", tool.Runtime{SideEffect: tool.External}, "text", "post"),
		makeTool("mail.list", "List the messages of a mailbox.", read),
		makeTool("weather.forecast", "The weather of the coming days for a place.", read),
		makeTool("db.query", "Run a SQL query and return its rows.", tool.Runtime{}),
	}
}

func catalog(t testing.TB, x *search.Index, tools []*tool.Tool) *search.Catalog {
	t.Helper()
	c, err := x.Catalog(t.Context(), tools)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t testing.TB, c *search.Catalog, r search.Request) *search.Response {
	t.Helper()
	found, err := c.Search(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func names(a search.Answer) []string {
	var list []string
	for _, h := range a.Hits {
		list = append(list, h.Tool.ID.Dotted())
	}
	return list
}

func TestFinds(t *testing.T) {
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	for query, want := range map[string]string{
		"read a file": "files.read", "files.remove": "files.remove", "supprimer un dossier": "files.remove",
		"wie wird das Wetter morgen": "weather.forecast", "发送电子邮件": "mail.send", "sql": "db.query",
		"montre mes messages": "mail.list", "wether forcast": "weather.forecast",
	} {
		found := find(t, c, search.Request{Queries: []string{query}, Limit: 1})
		if got := names(found.Answers[0]); len(got) != 1 || got[0] != want {
			t.Errorf("%q finds %v, want %s", query, got, want)
		}
		if h := found.Answers[0].Hits[0]; h.Why() == "" || h.Score <= 0 {
			t.Errorf("%q: score %v, why %q", query, h.Score, h.Why())
		}
		if found.Degraded != "" {
			t.Errorf("%q: degraded: %s", query, found.Degraded)
		}
	}
}

func TestSeveralQueriesAndTheUnmatched(t *testing.T) {
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	found := find(t, c, search.Request{Queries: []string{"send mail", "  ", "zzzz qqqq", "weather"}, Limit: 2})
	if len(found.Answers) != 3 || found.Answers[0].Query != "send mail" ||
		names(found.Answers[2])[0] != "weather.forecast" {
		t.Fatalf("got %+v", found)
	}
	if diff := cmp.Diff([]string{"zzzz qqqq"}, found.Unmatched); diff != "" {
		t.Errorf("unmatched (-want +got):\n%s", diff)
	}
}

func TestBrowse(t *testing.T) {
	c := catalog(t, search.New(search.Options{}), fixture())
	a := find(t, c, search.Request{Limit: 2, Offset: 1}).Answers[0]
	if diff := cmp.Diff([]string{"files.read", "files.remove"}, names(a)); diff != "" || a.Total != 6 {
		t.Errorf("of %d (-want +got):\n%s", a.Total, diff)
	}
	if a := find(t, c, search.Request{Offset: 100}).Answers[0]; len(a.Hits) != 0 || a.Total != 6 {
		t.Errorf("past the end: %+v", a)
	}
}

func TestFilters(t *testing.T) {
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	tests := []struct {
		name   string
		filter search.Filter
		want   []string
	}{
		{"a module", search.Filter{Modules: []string{"mail"}}, []string{"mail.list", "mail.send"}},
		{"part of a name is no module", search.Filter{Modules: []string{"mai"}}, nil},
		{"a tag", search.Filter{Tags: []string{"TEXT"}}, []string{"files.read", "mail.send"}},
		{"low risk", search.Filter{MaxRisk: tool.Low}, []string{"files.read", "mail.list", "weather.forecast"}},
		{"no risk is medium risk", search.Filter{MaxRisk: tool.Medium, Modules: []string{"db", "files"}},
			[]string{"db.query", "files.read"}},
		{"no side effect is the default", search.Filter{SideEffects: []tool.SideEffect{tool.Write}},
			[]string{"db.query", "files.remove"}},
		{"several", search.Filter{Modules: []string{"mail"}, SideEffects: []tool.SideEffect{tool.External}},
			[]string{"mail.send"}},
	}
	for _, test := range tests {
		for _, queries := range [][]string{nil, {"a file, the weather, mail or a query"}} {
			a := find(t, c, search.Request{Queries: queries, Filter: test.filter, Limit: 10}).Answers[0]
			got := names(a)
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" || a.Total != len(test.want) {
				t.Errorf("%s, %v: of %d (-want +got):\n%s", test.name, queries, a.Total, diff)
			}
		}
	}
	for _, bad := range []search.Request{
		{Filter: search.Filter{MaxRisk: "extreme"}}, {Filter: search.Filter{SideEffects: []tool.SideEffect{"boom"}}},
		{Limit: -1}, {Offset: -1}, {Queries: slices.Repeat([]string{"x"}, 21)},
	} {
		if _, err := c.Search(t.Context(), bad); tool.KindOf(err) != tool.Invalid {
			t.Errorf("%+v gives %v", bad, err)
		}
	}
}

// A tool that was used recently rises, up to a limit.
func TestUsedOfLate(t *testing.T) {
	c := catalog(t, search.New(search.Options{Embedder: builtin(t)}), fixture())
	score := func(uses int) float64 {
		used := map[string]int{"files.remove": uses}
		a := find(t, c, search.Request{Queries: []string{"read a file"}, Limit: 6, Used: used}).Answers[0]
		return a.Hits[slices.Index(names(a), "files.remove")].Score
	}
	if plain, some, many := score(0), score(2), score(1000); some <= plain || many <= some || many > plain+3.001 {
		t.Errorf("0, 2 and 1000 uses: %v, %v, %v", plain, some, many)
	}
}

// A catalog finds only its own tools, while the index holds those of several
// callers.
func TestCatalogIsAllThereIs(t *testing.T) {
	x := search.New(search.Options{Embedder: builtin(t)})
	all := fixture()
	if err := x.Sync(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	mine := catalog(t, x, all[:2])
	for _, query := range []string{"send mail", "weather", "mail.send", "sql query rows"} {
		for _, name := range names(find(t, mine, search.Request{Queries: []string{query}, Limit: 100}).Answers[0]) {
			if !strings.HasPrefix(name, "files.") {
				t.Errorf("%q finds %s", query, name)
			}
		}
	}
}

// After many generations an index finds the same tools, with the same scores, as
// a new one.
func TestComingAndGoing(t *testing.T) {
	var pool []*tool.Tool
	for i := range 300 {
		things := []string{"files", "mail", "music", "maps"}
		senses := []string{"colour", "sound", "light"}
		text := fmt.Sprintf("Does thing number %d with %s and %s.", i, things[i%4], senses[i%3])
		pool = append(pool, makeTool(fmt.Sprintf("m%d.act%d", i%7, i), text, tool.Runtime{}))
	}
	x := search.New(search.Options{Embedder: builtin(t)})
	for generation := range 12 {
		var now []*tool.Tool
		for i, old := range pool {
			if (i*7+generation*13)%5 < 3 {
				if i%2 == 0 { // the same content, loaded again
					fresh := *old
					old = &fresh
				}
				now = append(now, old)
			}
		}
		if err := x.Sync(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		fresh := search.New(search.Options{Embedder: builtin(t)})
		for _, query := range []string{"mail sound", "thing number 42", "m3.act3", "musique et lumière"} {
			r := search.Request{Queries: []string{query}, Limit: 20}
			got, want := find(t, catalog(t, x, now), r), find(t, catalog(t, fresh, now), r)
			if diff := cmp.Diff(scored(want), scored(got)); diff != "" {
				t.Fatalf("generation %d, %q (-anew +synced):\n%s", generation, query, diff)
			}
		}
	}
}

func scored(r *search.Response) (list []string) {
	for _, h := range r.Answers[0].Hits {
		list = append(list, fmt.Sprintf("%s %.2f", h.Tool.ID.Dotted(), h.Score))
	}
	return list
}

// Searches run while generations change: no answer holds a tool of another
// catalog, and there is no data race.
func TestConcurrently(t *testing.T) {
	x := search.New(search.Options{Embedder: builtin(t)})
	all := fixture()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 30 {
				mine := all[(worker+i)%3 : (worker+i)%3+3]
				if i%5 == 0 {
					if err := x.Sync(context.Background(), mine); err != nil {
						t.Error(err)
					}
				}
				c, err := x.Catalog(context.Background(), mine)
				if err != nil {
					t.Error(err)
					return
				}
				found, err := c.Search(context.Background(), search.Request{Queries: []string{"file mail weather"}, Limit: 10})
				if err != nil {
					t.Error(err)
					return
				}
				for _, h := range found.Answers[0].Hits {
					if !slices.Contains(mine, h.Tool) {
						t.Errorf("%s is of another catalog", h.Tool.ID)
					}
				}
			}
		})
	}
	wg.Wait()
}

// moody is an embedder that is slow, and may be down.
type moody struct {
	search.Embedder
	mu    sync.Mutex
	down  error
	asked int
}

func (m *moody) EmbedAll(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked += len(texts)
	if m.down != nil {
		return nil, m.down
	}
	return m.Embedder.EmbedAll(ctx, texts)
}

func (m *moody) set(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = err
}

func (m *moody) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// settled searches until meaning is used.
func settled(t *testing.T, x *search.Index, tools []*tool.Tool) *search.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		found, err := catalog(t, x, tools).Search(ctx, search.Request{Queries: []string{"supprimer un dossier"}, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if found.Degraded == "" {
			return found
		}
	}
}

// An endpoint is not asked while a state is made. Until it has answered, only
// keywords are used; after that, a restart asks it nothing.
func TestEndpoint(t *testing.T) {
	folder := t.TempDir()
	m := &moody{Embedder: builtin(t)}
	x := search.New(search.Options{Embedder: m, Cache: folder})
	if got := names(settled(t, x, fixture()).Answers[0]); got[0] != "files.remove" {
		t.Errorf("found %v", got)
	}
	m.set(errors.New("the endpoint is down"))
	found := find(t, catalog(t, x, fixture()), search.Request{Queries: []string{"files.remove"}, Limit: 1})
	if !strings.Contains(found.Degraded, "down") || names(found.Answers[0])[0] != "files.remove" {
		t.Errorf("a query that cannot be embedded gives %v (%s)", names(found.Answers[0]), found.Degraded)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}

	m.set(nil)
	before := m.count()
	again := search.New(search.Options{Embedder: m, Cache: folder})
	defer again.Close()
	settled(t, again, fixture())
	if asked := m.count() - before; asked > 5 { // a probe and the queries, not 12 texts of tools
		t.Errorf("after a restart %d texts were embedded", asked)
	}
}

func TestEndpointThatIsDownFromTheStart(t *testing.T) {
	m := &moody{Embedder: builtin(t), down: errors.New("connection refused")}
	x := search.New(search.Options{Embedder: m})
	defer x.Close()
	found := find(t, catalog(t, x, fixture()), search.Request{Queries: []string{"send an e-mail"}, Limit: 1})
	if found.Degraded == "" || names(found.Answers[0])[0] != "mail.send" {
		t.Errorf("got %v (%s)", names(found.Answers[0]), found.Degraded)
	}
}

func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"read a file", "", "\xff\xfe", "supprimer\x00", strings.Repeat("а", 5000), "🙂🙃", "files.read", "a\u202eb", "ＦＩＬＥ",
	} {
		f.Add(seed, seed)
	}
	model := builtin(f)
	f.Fuzz(func(t *testing.T, query, text string) {
		all := append(fixture(), &tool.Tool{
			ID:   tool.ID{Namespace: "x", Name: "y"},
			Spec: tool.Spec{Description: text, Aliases: []string{text}, Input: json.RawMessage(text)},
		})
		x := search.New(search.Options{Embedder: model})
		if err := x.Sync(context.Background(), all); err != nil {
			t.Fatal(err)
		}
		mine := all[:4]
		c, err := x.Catalog(context.Background(), mine)
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.Search(context.Background(), search.Request{Queries: []string{query, text}, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found.Answers {
			for i, h := range a.Hits {
				if !slices.Contains(mine, h.Tool) {
					t.Fatalf("%s is not in the catalog", h.Tool.ID)
				}
				if h.Score != h.Score || i > 0 && h.Score > a.Hits[i-1].Score {
					t.Fatalf("scores out of order: %v", a.Hits)
				}
			}
		}
	})
}
