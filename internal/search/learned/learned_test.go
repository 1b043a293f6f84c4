package learned_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"callgate/internal/document"
	"callgate/internal/search/learned"
	"callgate/internal/storage/sqlite"
)

// documents opens a real store of documents.
func documents(t testing.TB) document.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.Stores().Documents
}

func scrub(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }

func open(t testing.TB, docs document.Store) *learned.Store {
	t.Helper()
	s := learned.New(docs, scrub, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { ok(t, s.Close()) })
	return s
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// teach searches and calls.
func teach(s *learned.Session, request, name string) {
	s.Shown(request, []string{"other.tool", name})
	s.Succeeded(name)
}

// said lists what an owner taught, as request>tool×seen.
func said(t testing.TB, s *learned.Store, owner string) string {
	t.Helper()
	pairs, err := s.List(owner)
	ok(t, err)
	var all []string
	for _, p := range pairs {
		all = append(all, fmt.Sprintf("%s>%s×%d", p.Request, p.Tool, p.Seen))
	}
	return strings.Join(all, " | ")
}

func TestWhatTeaches(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	for name, c := range map[string]struct {
		do   func(*learned.Session)
		want string
	}{
		"a shown tool that went well": {func(s *learned.Session) {
			s.Shown("sort my  tickets\n", []string{"desk.list", "desk.triage"})
			s.Succeeded("desk.triage")
		}, "sort my tickets>desk.triage×1"},
		"a tool that was not shown": {func(s *learned.Session) {
			s.Shown("sort my tickets", []string{"desk.list"})
			s.Succeeded("desk.triage")
		}, ""},
		"a call before the search": {func(s *learned.Session) {
			s.Succeeded("desk.triage")
			s.Shown("sort my tickets", []string{"desk.triage"})
		}, ""},
		"a call twice": {func(s *learned.Session) {
			teach(s, "sort my tickets", "desk.triage")
			s.Succeeded("desk.triage")
		}, "sort my tickets>desk.triage×1"},
		"the same words twice": {func(s *learned.Session) {
			teach(s, "sort my tickets", "desk.triage")
			teach(s, "Sort my tickets!", "desk.triage")
		}, "sort my tickets>desk.triage×2"},
		"the last search that showed it": {func(s *learned.Session) {
			s.Shown("tickets", []string{"desk.triage"})
			s.Shown("sort what came in", []string{"desk.triage"})
			s.Shown("write a letter", []string{"mail.send"})
			s.Succeeded("desk.triage")
		}, "sort what came in>desk.triage×1"},
		"two tools of one search": {func(s *learned.Session) {
			s.Shown("answer the tickets", []string{"desk.list", "desk.reply"})
			s.Succeeded("desk.list")
			s.Succeeded("desk.reply")
		}, "answer the tickets>desk.list×1 | answer the tickets>desk.reply×1"},
		"more tools than one search teaches": {func(s *learned.Session) {
			s.Shown("do it all", []string{"a.a", "a.b", "a.c", "a.d"})
			for _, name := range []string{"a.a", "a.b", "a.c", "a.d"} {
				s.Succeeded(name)
			}
		}, "do it all>a.a×1 | do it all>a.b×1 | do it all>a.c×1"},
		"a secret":             {func(s *learned.Session) { teach(s, "log in with hunter2", "web.login") }, ""},
		"the name of the tool": {func(s *learned.Session) { teach(s, "Desk.Triage", "desk.triage") }, ""},
		"no words":             {func(s *learned.Session) { teach(s, " 12 ?! ", "desk.triage") }, ""},
		"a session that is off": {func(s *learned.Session) {
			s.Shown("sort my tickets", []string{"desk.triage"})
			s.Off(true)
			s.Succeeded("desk.triage")
			teach(s, "sort the others", "desk.triage")
		}, ""},
		"one that is on again": {func(s *learned.Session) {
			s.Off(true)
			s.Off(false)
			teach(s, "sort my tickets", "desk.triage")
		}, "sort my tickets>desk.triage×1"},
	} {
		s := open(t, document.Scoped(docs, name))
		c.do(s.Session("", "s1", ""))
		if got := said(t, s, ""); got != c.want {
			t.Errorf("%s: learned %q, want %q", name, got, c.want)
		}
	}
}

// A call long after a search is not its consequence.
func TestSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := learned.New(documents(t), scrub, slog.New(slog.DiscardHandler))
		for _, asker := range []string{"", "terminal"} {
			one := s.Session("", "s1", asker)
			one.Shown("sort my tickets", []string{"desk.triage", "desk.list"})
			<-time.After(learned.Soon) // of the bubble
			one.Succeeded("desk.list")
			<-time.After(time.Second)
			one.Succeeded("desk.triage")
			if got := said(t, s, ""); got != "sort my tickets>desk.list×1" {
				t.Errorf("asker %q: learned %q", asker, got)
			}
			_, err := s.Forget(t.Context(), "", learned.Filter{All: true})
			ok(t, err)
		}
		ok(t, s.Close())
	})
}

func TestOwnersAreApart(t *testing.T) {
	t.Parallel()
	s := open(t, documents(t))
	ada, bob := s.Session("", "s1", ""), s.Session("token-7", "s2", "")
	teach(ada, "sort my tickets", "desk.triage")
	before, version := bob.Examples()
	if len(before) != 0 {
		t.Errorf("another owner has %v", before)
	}
	teach(bob, "what came in", "desk.triage")
	if mine, _ := ada.Examples(); fmt.Sprint(mine) != "map[desk.triage:[sort my tickets]]" {
		t.Errorf("the first has %v", mine)
	}
	after, next := bob.Examples()
	if fmt.Sprint(after) != "map[desk.triage:[what came in]]" || next == version {
		t.Errorf("the second has %v, version %d after %d", after, next, version)
	}
	gone, err := bob.Forget(t.Context(), learned.Filter{All: true})
	ok(t, err)
	if len(gone) != 1 || said(t, s, "") != "sort my tickets>desk.triage×1" {
		t.Errorf("%v went, and %q is left of the other", gone, said(t, s, ""))
	}
}

// A store that is opened again has what was learned; what is forgotten is gone for good.
func TestKept(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	s := open(t, docs)
	one := s.Session("", "s1", "")
	teach(one, "sort my tickets", "desk.triage")
	teach(one, "trier mes tickets", "desk.triage")
	teach(one, "write to Ada", "mail.send")
	ok(t, s.Close())
	s = open(t, docs)
	if got := said(t, s, ""); got != "trier mes tickets>desk.triage×1 | sort my tickets>desk.triage×1 | write to Ada>mail.send×1" &&
		got != "sort my tickets>desk.triage×1 | trier mes tickets>desk.triage×1 | write to Ada>mail.send×1" {
		t.Errorf("kept %q", got)
	}
	for _, c := range []struct {
		f    learned.Filter
		want int
	}{
		{learned.Filter{}, 0}, {learned.Filter{Words: "TRIER mes"}, 1}, {learned.Filter{Tool: "desk.triage", Words: "ada"}, 0},
		{learned.Filter{Tool: "mail:send@1.2.3"}, 1}, {learned.Filter{All: true}, 1},
	} {
		gone, err := s.Forget(t.Context(), "", c.f)
		if err != nil || len(gone) != c.want {
			t.Errorf("%+v: %d went, want %d (%v)", c.f, len(gone), c.want, err)
		}
	}
	if got := said(t, open(t, docs), ""); got != "" {
		t.Errorf("%q is still there", got)
	}
	if left, err := document.ListAll(t.Context(), docs, "search_learned", ""); err != nil || len(left) > 0 {
		t.Errorf("%d documents are left (%v)", len(left), err)
	}
}

// The commands of one terminal are sessions of their own, each perhaps in a kernel of its own.
func TestTerminal(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	here, there := learned.Asker("7", "/work", "app"), learned.Asker("8", "/work", "app")
	s := open(t, docs)
	s.Session("", "s1", here).Shown("sort my tickets", []string{"desk.triage"})
	ok(t, s.Close())
	s = open(t, docs)
	s.Session("", "s2", there).Succeeded("desk.triage")
	if got := said(t, s, ""); got != "" {
		t.Errorf("another terminal taught %q", got)
	}
	s.Session("", "s3", here).Succeeded("desk.triage")
	s.Session("", "s4", here).Succeeded("desk.triage")
	if got := said(t, s, ""); got != "sort my tickets>desk.triage×1" {
		t.Errorf("learned %q", got)
	}
}

// What was learned goes with its conversation and with the journal's records, unless it was
// seen elsewhere too.
func TestGoesWithItsSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := documents(t)
		s := learned.New(docs, scrub, slog.New(slog.DiscardHandler))
		first, second := s.Session("", "s1", ""), s.Session("", "s2", "")
		teach(first, "sort my tickets", "desk.triage")
		teach(first, "write to Ada", "mail.send")
		<-time.After(time.Hour)
		now := time.Now()
		teach(second, "sort my tickets", "desk.triage")
		teach(second, "list what is open", "desk.list")
		ok(t, s.Prune(t.Context(), now))
		if got := said(t, s, ""); got != "list what is open>desk.list×1 | sort my tickets>desk.triage×1" {
			t.Errorf("after the records went: %q", got)
		}
		ok(t, s.ForgetSession(t.Context(), "s1"))
		if got := said(t, s, ""); got != "list what is open>desk.list×1 | sort my tickets>desk.triage×1" {
			t.Errorf("after another conversation went: %q", got)
		}
		ok(t, s.ForgetSession(t.Context(), "s2"))
		if got := said(t, s, ""); got != "" {
			t.Errorf("after its conversation went: %q", got)
		}
		ok(t, s.Close())
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := learned.New(documents(t), scrub, slog.New(slog.DiscardHandler))
		one := s.Session("", "s1", "")
		teach(one, "seen often", "desk.triage")
		teach(one, "seen often", "desk.triage")
		for i := range 2 * learned.MaxTool {
			<-time.After(time.Second)
			teach(one, fmt.Sprintf("request number %d", i), "desk.triage")
		}
		pairs, err := s.List("")
		ok(t, err)
		has := func(text string) bool {
			return slices.ContainsFunc(pairs, func(p learned.Pair) bool { return p.Request == text })
		}
		if len(pairs) != learned.MaxTool || !has("seen often") || has("request number 0") || !has("request number 15") {
			t.Errorf("kept %+v", pairs)
		}
		const most = 50
		s.SetMost(most)
		bob := s.Session("token", "s2", "")
		teach(bob, "of somebody else", "desk.triage")
		for i := range most + 10 {
			teach(one, "do the thing", fmt.Sprintf("many.tool%d", i))
		}
		pairs, err = s.List("")
		ok(t, err)
		if len(pairs) != most-1 || said(t, s, "token") == "" {
			t.Errorf("%d pairs are kept, and %q of another owner", len(pairs), said(t, s, "token"))
		}
		<-time.After(time.Second)
		teach(one, strings.Repeat("long ", 1000), "desk.long")
		got := said(t, s, "")
		if i := strings.Index(got, "long"); utf8.RuneCountInString(got[i:strings.Index(got, ">desk.long")]) > learned.MaxRequest {
			t.Error("a long request is not cut")
		}
		ok(t, s.Close())
	})
}

// A secret that becomes known later is not given any more, and is removed.
func TestSecretKnownLater(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	naive := learned.New(docs, func(text string) string { return text }, slog.New(slog.DiscardHandler))
	teach(naive.Session("", "s1", ""), "log in with hunter2", "web.login")
	naive.Session("", "s1", "terminal").Shown("hunter2 again", []string{"web.login"})
	ok(t, naive.Close())
	s := open(t, docs)
	if got := said(t, s, ""); got != "" {
		t.Errorf("kept %q", got)
	}
	ok(t, s.Close())
	for _, collection := range []string{"search_learned", "search_asked"} {
		all, err := document.ListAll(t.Context(), docs, collection, "")
		ok(t, err)
		for _, doc := range all {
			if strings.Contains(string(doc.Data), "hunter2") {
				t.Errorf("%s still holds it: %s", collection, doc.Data)
			}
		}
	}
}

// broken refuses everything.
type broken struct{ document.Store }

var errBroken = errors.New("the disk is gone")

func (broken) List(_ context.Context, _, _, _ string, _ int) ([]document.Document, error) {
	return nil, errBroken
}

// Documents that cannot be read stop no search and no call, and who asks is told.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := learned.New(broken{}, scrub, slog.New(slog.DiscardHandler))
	one := s.Session("", "s1", "")
	teach(one, "sort my tickets", "desk.triage")
	if got, _ := one.Examples(); len(got) > 0 {
		t.Errorf("examples %v", got)
	}
	if _, err := one.List(); !errors.Is(err, errBroken) {
		t.Errorf("List says %v", err)
	}
	if _, err := one.Forget(t.Context(), learned.Filter{All: true}); !errors.Is(err, errBroken) {
		t.Errorf("Forget says %v", err)
	}
}

// Documents that something else wrote are left out, whatever is in them.
func TestDamaged(t *testing.T) {
	t.Parallel()
	docs := documents(t)
	s := open(t, docs)
	teach(s.Session("", "s1", ""), "sort my tickets", "desk.triage")
	ok(t, s.Close())
	for key, data := range map[string]string{
		"of//a.b": `{`, "of//c.d": `{"tool":"x.y","pairs":[{"request":"of another"}]}`,
		"of//e.f": `{"tool":"e.f","pairs":[{"request":"two\nlines"},{"request":"fine words"}]}`, "terminal/1": `[]`,
	} {
		_, err := docs.Write(t.Context(), document.Change{Collection: "search_learned", Key: key, Data: []byte(data)})
		ok(t, err)
		_, err = docs.Write(t.Context(), document.Change{Collection: "search_asked", Key: key, Data: []byte(data)})
		ok(t, err)
	}
	if got := said(t, open(t, docs), ""); got != "sort my tickets>desk.triage×1 | fine words>e.f×0" {
		t.Errorf("read %q", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, documents(t))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			one := s.Session("", fmt.Sprint("s", i), []string{"", "terminal"}[i%2])
			for j := range 20 {
				teach(one, fmt.Sprintf("request %d", j%5), fmt.Sprint("tool.", i))
				one.Examples()
				if j == 10 {
					ok(t, s.ForgetSession(t.Context(), "s0"))
				}
			}
		})
	}
	wg.Wait()
	pairs, err := s.List("")
	if err != nil || len(pairs) < 15 || len(pairs) > 8*5 {
		t.Errorf("%d pairs (%v)", len(pairs), err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"  sort\tmy\n tickets ": "sort my tickets", "a\u200bb": "ab", "": "", "\xff\xfe": "",
		"查天气": "查天气", strings.Repeat("é", 400): strings.Repeat("é", learned.MaxRequest),
		strings.Repeat("x", 299) + " y": strings.Repeat("x", 299),
	} {
		if got, _ := learned.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q", in, got)
		}
	}
	if learned.Fold("Sort  MY tickets?!") != learned.Fold("sort my tickets") {
		t.Error("two spellings of one request differ")
	}
}

func FuzzClean(f *testing.F) {
	f.Add("sort my tickets")
	f.Add("a\u2028b\x00\xff" + strings.Repeat("й", 400))
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := learned.Clean(text)
		again, _ := learned.Clean(got)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > learned.MaxRequest || got != again ||
			strings.TrimSpace(got) != got || strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("Clean(%q) = %q, and again %q", text, got, again)
		}
	})
}
