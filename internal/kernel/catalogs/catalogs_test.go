package catalogs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/kernel/background"
	"callgate/internal/kernel/catalogs"
	"callgate/internal/kernel/signatures"
	"callgate/internal/signing"
	"callgate/internal/signing/signingtest"
)

// put has a server list tools.
func put(t *testing.T, s *signingtest.Server, at int64, ids ...string) {
	t.Helper()
	s.Put(t, "/catalog.json", signingtest.Catalog("y", ids...), at)
	s.SetDown(false)
}

func config(s *signingtest.Server, refresh time.Duration) catalogs.Config {
	return catalogs.Config{
		URL: s.URL + "/catalog.json", Key: s.Key.Key(), Refresh: refresh, Private: []string{"127.0.0.1"},
	}
}

// open makes a set that keeps nothing of what was accepted last.
func open(dir string, g *background.Group) *catalogs.Set {
	return catalogs.New(catalogs.Options{
		Dir: dir, Go: g.Go,
		Check: func(context.Context, signatures.Content, []signing.Key) error { return nil },
	})
}

func use(t *testing.T, s *catalogs.Set, scope string, all ...catalogs.Config) []*catalogs.Catalog {
	t.Helper()
	opened, err := s.Use(scope, all)
	if err != nil {
		t.Fatal(err)
	}
	catalogs.Wait(t.Context(), opened)
	return opened
}

// pass lets the clock of a bubble run, and what is due happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func ids(c *catalogs.Catalog) string {
	var all []string
	for _, t := range c.Listing().Tools {
		all = append(all, t.ID.String())
	}
	return strings.Join(all, " ")
}

// TestRefresh lets hours pass: a catalog is asked for once in each refresh, by all apps together, and who
// uses it is told when it lists something else.
func TestRefresh(t *testing.T) {
	t.Parallel()
	s := signingtest.New(t)
	put(t, s, 100, "acme:triage@1.0.0")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := background.New(t.Context())
		defer g.Close()
		set := open(dir, g)
		var mu sync.Mutex
		var told []string
		set.Notify(func(scope string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, scope)
		})
		takeTold := func() string {
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(told)
			text := strings.Join(told, " ")
			told = nil
			return text
		}
		var group sync.WaitGroup
		for _, scope := range []string{"a", "b", "c", "d"} { // they come at once
			group.Go(func() { use(t, set, scope, config(s, time.Hour)) })
		}
		group.Wait()
		one, two := use(t, set, "a", config(s, time.Hour))[0], use(t, set, "b", config(s, time.Hour))[0]
		synctest.Wait()
		if one != two || ids(one) != "acme:triage@1.0.0" || s.Asked() != 1 {
			t.Fatalf("shared: %v, %s, asked %d times", one == two, ids(one), s.Asked())
		}
		takeTold()
		pass(59 * time.Minute)
		if s.Asked() != 1 {
			t.Errorf("within the hour it was asked for %d times", s.Asked())
		}
		put(t, s, 200, "acme:triage@1.0.0", "acme:sum@1.0.0")
		use(t, set, "c")
		use(t, set, "d")
		pass(7 * time.Minute) // the hour, and a tenth of it
		if s.Asked() != 2 || ids(one) != "acme:triage@1.0.0 acme:sum@1.0.0" || takeTold() != "a b" {
			t.Errorf("after an hour: asked %d times, %s", s.Asked(), ids(one))
		}
		pass(20 * time.Hour)
		if n := s.Asked(); n < 2+18 || n > 2+20 || takeTold() != "" {
			t.Errorf("after a day it was asked for %d times", n)
		}
		use(t, set, "a")
		use(t, set, "b")
		n := s.Asked()
		pass(20 * time.Hour)
		if s.Asked() != n || set.Any("a") {
			t.Error("it is asked for although no app names it")
		}
	})
}

// TestFailing has a catalog fail beside one that does not: it keeps what it listed and says so, is
// asked again sooner, and comes back.
func TestFailing(t *testing.T) {
	t.Parallel()
	good, bad, never := signingtest.New(t), signingtest.New(t), signingtest.New(t)
	put(t, good, 100, "acme:triage@1.0.0")
	put(t, bad, 100, "other:sum@1.0.0", "filesystem:read@9.0.0")
	never.SetDown(true)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g := background.New(t.Context())
		defer g.Close()
		set := open(dir, g)
		all := use(t, set, "a", config(good, time.Hour), config(bad, time.Hour), config(never, 2*time.Hour))
		if ids(all[0]) != "acme:triage@1.0.0" || ids(all[1]) != "other:sum@1.0.0" || ids(all[2]) != "" {
			t.Fatalf("%s, %s, %s", ids(all[0]), ids(all[1]), ids(all[2]))
		}
		says := func(words ...string) {
			t.Helper()
			text := strings.Join(set.Problems(), "\n")
			for _, w := range words {
				if !strings.Contains(text, w) {
					t.Errorf("%q does not say %q", text, w)
				}
			}
		}
		says("filesystem:read@9.0.0, which is left out", "cannot be listed, so its tools are not there", "502")
		pass(10 * time.Minute)
		if n := never.Asked(); n < 3 || n > 5 { // after 1, 2, 4 and 8 minutes
			t.Errorf("the one that fails was asked %d times in 10 minutes", n)
		}
		bad.SetDown(true)
		pass(57 * time.Minute)
		if ids(all[0]) != "acme:triage@1.0.0" || ids(all[1]) != "other:sum@1.0.0" {
			t.Errorf("while it is down: %s, %s", ids(all[0]), ids(all[1]))
		}
		says("is as it was signed on 1970-01-01")
		if len(all[0].Listing().Problems) > 0 {
			t.Error(all[0].Listing().Problems)
		}
		put(t, bad, 200, "other:sum@1.1.0")
		put(t, never, 200, "third:say@1.0.0")
		pass(3 * time.Hour)
		if ids(all[1]) != "other:sum@1.1.0" || ids(all[2]) != "third:say@1.0.0" || len(set.Problems()) > 0 {
			t.Errorf("after they are back: %s, %s, %v", ids(all[1]), ids(all[2]), set.Problems())
		}
	})
}

// TestNamedTwice has an app name a catalog that its user's own file names too: it is one.
func TestNamedTwice(t *testing.T) {
	t.Parallel()
	s, g := signingtest.New(t), background.New(t.Context())
	defer g.Close()
	put(t, s, 100, "acme:triage@1.0.0")
	set := open(t.TempDir(), g)
	both := use(t, set, "a", config(s, time.Hour), config(s, time.Hour))
	if both[0] != both[1] || ids(both[1]) != "acme:triage@1.0.0" || s.Asked() != 1 {
		t.Errorf("%v, %s, asked %d times", both[0] == both[1], ids(both[1]), s.Asked())
	}
	if use(t, set, "a"); set.Any("a") || len(set.Problems()) > 0 {
		t.Error("it is still there")
	}
}

// TestKept has another kernel begin: it asks nobody while the copy on disk is new enough.
func TestKept(t *testing.T) {
	t.Parallel()
	s, dir := signingtest.New(t), t.TempDir()
	put(t, s, 100, "acme:triage@1.0.0")
	start := func() string {
		g := background.New(t.Context())
		defer g.Close()
		set := open(dir, g)
		return ids(use(t, set, "a", config(s, time.Hour))[0])
	}
	for range 3 {
		if got := start(); got != "acme:triage@1.0.0" || s.Asked() != 1 {
			t.Fatalf("%s, asked %d times", got, s.Asked())
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, at := range []time.Time{time.Now().Add(-2 * time.Hour), time.Now().Add(time.Hour)} { // a clock may go back
		n := s.Asked()
		if err := os.Chtimes(files[0], at, at); err != nil {
			t.Fatal(err)
		}
		if got := start(); got != "acme:triage@1.0.0" || s.Asked() != n+1 {
			t.Errorf("%s, asked %d times", got, s.Asked()-n)
		}
	}
}
