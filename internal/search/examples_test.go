package search_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"callgate/internal/search"
	"callgate/tool"
)

func withNotes(t *tool.Tool, notes ...string) *tool.Tool {
	c := *t
	c.Spec.Examples = nil
	for _, note := range notes {
		c.Spec.Examples = append(c.Spec.Examples, tool.Example{Note: note})
	}
	return &c
}

func byTool(name string, texts ...string) search.Examples {
	return search.Examples{ByTool: map[string][]string{name: texts}}
}

// hit returns the hit of a tool for a query.
func hit(t testing.TB, c *search.Catalog, query, name string) search.Hit {
	t.Helper()
	a := find(t, c, search.Request{Queries: []string{query}, Limit: search.MaxLimit}).Answers[0]
	i := slices.Index(names(a), name)
	if i < 0 {
		return search.Hit{}
	}
	return a.Hits[i]
}

func TestAnExampleFindsItsTool(t *testing.T) {
	const query = "should I take an umbrella on Friday?"
	const like = "do I need an umbrella tomorrow?"
	all := fixture()
	known := func(t *tool.Tool) []string {
		if t.ID.Name == "forecast" {
			return []string{like}
		}
		return nil
	}
	for name, c := range map[string]*search.Catalog{
		"its own": catalog(t, search.New(search.Options{Embedder: builtin(t)}),
			append(slices.Clone(all[:4]), withNotes(all[4], "of two days", like))),
		"known":       catalog(t, search.New(search.Options{Embedder: builtin(t), Known: known}), all),
		"a catalog's": examples(t, search.Options{Embedder: builtin(t)}, all, byTool("weather.forecast", "x", like)),
		"in vain": examples(t, search.Options{Embedder: builtin(t)}, all,
			byTool("weather.forecast", "qwertz", like), byTool("no.such", like)),
	} {
		found := find(t, c, search.Request{Queries: []string{query}, Limit: 1})
		h := found.Answers[0].Hits[0]
		if h.Tool.ID.Name != "forecast" || h.Like != like || !strings.Contains(h.Why(), `like "`+like+`"`) {
			t.Errorf("%s: %s is found, like %q: %s", name, h.Tool.ID, h.Like, h.Why())
		}
		if len(found.Unmatched) > 0 || h.Semantic < 0.4 {
			t.Errorf("%s: similarity %v, unmatched %q", name, h.Semantic, found.Unmatched)
		}
	}
}

func examples(t testing.TB, o search.Options, tools []*tool.Tool, more ...search.Examples) *search.Catalog {
	t.Helper()
	c, err := search.New(o).Catalog(t.Context(), tools, more...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var asked = []string{
	"read a file", "supprimer un dossier", "wie wird das Wetter morgen", "sql", "umbrella", "qqq zzz", "发送电子邮件",
	"show me what Ada wrote", "a file, the weather, mail or a query", "throw the old folder away",
}

// An example changes no other tool's score, and lowers none.
func TestAnExampleOnlyLifts(t *testing.T) {
	all := fixture()
	o := search.Options{Embedder: builtin(t)}
	plain := catalog(t, search.New(o), all)
	for _, of := range all {
		name := of.ID.Dotted()
		lifted := examples(t, o, all, byTool(name, asked[:6]...), byTool(name, asked[6:]...))
		for _, query := range asked {
			for _, other := range all {
				before, after := hit(t, plain, query, other.ID.Dotted()), hit(t, lifted, query, other.ID.Dotted())
				switch {
				case other == of && (after.Score < before.Score || after.Semantic < before.Semantic):
					t.Errorf("%q: an example lowers %s from %v to %v", query, name, before.Score, after.Score)
				case other != of && (after.Score != before.Score || after.Like != ""):
					t.Errorf("%q: examples of %s change %s from %v to %v", query, name, other.ID, before.Score, after.Score)
				}
			}
		}
	}
}

// However much a server writes, its tool gains no more than the weight of one
// example, and few short texts are embedded.
func TestManyAndLongExamplesGainNoMore(t *testing.T) {
	all := fixture()
	const query = "the weather of the coming days"
	notes := []string{query, strings.Repeat(query+" ", 40_000), "\xff\xfe\xfd words follow", "", "!!! ??? !!!"}
	for i := range 1000 {
		notes = append(notes, fmt.Sprintf("%s %d", query, i))
	}
	hostile := withNotes(all[1], notes...)
	tools := append(slices.Clone(all), hostile)
	tools = slices.Delete(tools, 1, 2)
	modest := slices.Clone(all)
	modest[1] = withNotes(all[1], query)
	one := hit(t, catalog(t, search.New(search.Options{Embedder: builtin(t)}), modest), query, "files.remove")
	static := catalog(t, search.New(search.Options{Embedder: builtin(t)}), tools)
	after := hit(t, static, query, "files.remove")
	if one.Tool == nil || after.Semantic > one.Semantic || after.Score > one.Score {
		t.Errorf("with one example %v, with many %v", one, after)
	}
	best := find(t, static, search.Request{Queries: []string{query}, Limit: 1})
	if names(best.Answers[0])[0] != "weather.forecast" {
		t.Errorf("%v is found", names(best.Answers[0]))
	}

	synctest.Test(t, func(t *testing.T) {
		m := &measured{moody: moody{Embedder: builtin(t)}}
		x := search.New(search.Options{Embedder: m, Known: func(*tool.Tool) []string { return notes }})
		defer x.Close()
		catalog(t, x, tools)
		synctest.Wait()
		if m.count() > 13+16*6 || m.longest > 2200 {
			t.Errorf("%d texts were embedded, the longest with %d bytes", m.count(), m.longest)
		}
	})
}

// measured counts bytes as well.
type measured struct {
	moody
	longest int
}

func (m *measured) EmbedAll(ctx context.Context, texts []string) ([][]float32, error) {
	for _, s := range texts {
		m.longest = max(m.longest, len(s))
	}
	return m.moody.EmbedAll(ctx, texts)
}

// A tool that is not in the catalog is not found by its examples.
func TestAnExampleOfAHiddenToolFindsNothing(t *testing.T) {
	all := fixture()
	all[1] = withNotes(all[1], "throw the old folder away")
	x := search.New(search.Options{Embedder: builtin(t)})
	if err := x.Sync(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	c, err := x.Catalog(t.Context(), all[2:], byTool("files.remove", "throw the old folder away"))
	if err != nil {
		t.Fatal(err)
	}
	found := find(t, c, search.Request{Queries: []string{"throw the old folder away"}, Limit: 9})
	for _, h := range found.Answers[0].Hits {
		if h.Tool.ID.Namespace == "files" || h.Like != "" {
			t.Errorf("%s is found, like %q", h.Tool.ID, h.Like)
		}
	}
}

// Examples of one catalog are not those of another.
func TestExamplesOfACatalogAreItsOwn(t *testing.T) {
	x := search.New(search.Options{Embedder: builtin(t)})
	mine, err := x.Catalog(t.Context(), fixture(), byTool("mail.send", "tell Ada about the umbrella"))
	if err != nil {
		t.Fatal(err)
	}
	yours := catalog(t, x, fixture())
	const query = "tell Ada about the umbrella"
	a, b := hit(t, mine, query, "mail.send"), hit(t, yours, query, "mail.send")
	if a.Like == "" || b.Like != "" || a.Score <= b.Score {
		t.Errorf("mine %+v, yours %+v", a, b)
	}
}

// An endpoint embeds examples in the background, each once, and none that is
// private. Another example of a tool costs its own embedding.
func TestAnEndpointIsAskedForEachExampleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		all := fixture()
		all[0] = withNotes(all[0], "show me what Ada wrote")
		m := &moody{Embedder: builtin(t)}
		x := search.New(search.Options{Embedder: m, Cache: folder})
		defer x.Close()
		app, private := byTool("mail.list", "what is new in my inbox"), byTool("mail.list", "anything from my doctor")
		private.Private = true
		make := func() *search.Catalog {
			c, err := x.Catalog(t.Context(), all, app, private)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return c
		}
		for make(); !make().Current(); { // tools first, then examples
		}
		if m.count() != 1+2*len(all)+2 { // a probe, each tool twice, the examples
			t.Errorf("%d texts were embedded", m.count())
		}
		if h := hit(t, make(), "what did Ada write", "files.read"); h.Like != "show me what Ada wrote" {
			t.Errorf("got %+v", h)
		}
		if h := hit(t, make(), "anything from my doctor", "mail.list"); h.Like == "anything from my doctor" {
			t.Error("the endpoint was told of a private example")
		}

		all[0] = withNotes(all[0], "show me what Ada wrote", "open the notes of Monday")
		m.set(errors.New("down"))
		make()
		m.set(nil)
		before := m.count()
		restarted := search.New(search.Options{Embedder: m, Cache: folder})
		defer restarted.Close()
		if _, err := restarted.Catalog(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if asked := m.count() - before; asked != 2 { // a probe, and the new example
			t.Errorf("another example made %d texts be embedded", asked)
		}
	})
}

// Private examples leave nothing on the disk.
func TestPrivateExamplesStayInMemory(t *testing.T) {
	size := func(more ...search.Examples) (sum int64) {
		folder := t.TempDir()
		x := search.New(search.Options{Embedder: builtin(t), Cache: folder})
		if _, err := x.Catalog(t.Context(), fixture(), more...); err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			info, _ := os.Stat(path)
			if info.Mode().IsRegular() {
				sum += info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	mine := byTool("mail.list", "anything from my doctor")
	plain, kept := size(), size(mine)
	mine.Private = true
	if private := size(mine); private != plain || kept <= plain {
		t.Errorf("%d bytes without, %d with, %d with private ones", plain, kept, private)
	}
}

// Beyond the size at which known requests cost more than they give, none are added.
func TestKnownRequestsOfLargeIndexes(t *testing.T) {
	known := func(*tool.Tool) []string { return []string{"what will it be like outside tomorrow"} }
	for _, tt := range []struct {
		most int
		like bool
	}{{0, true}, {6, true}, {5, false}} {
		x := search.New(search.Options{Embedder: builtin(t), Known: known, MaxKnown: tt.most})
		h := hit(t, catalog(t, x, fixture()), "what will it be like outside tomorrow", "weather.forecast")
		if (h.Like != "") != tt.like {
			t.Errorf("at most %d: like %q", tt.most, h.Like)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
