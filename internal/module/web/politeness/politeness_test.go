package politeness_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/web/politeness"
	"callgate/tool"
)

func acquire(t *testing.T, l *politeness.HostLimiter, host string, delay time.Duration) func() {
	t.Helper()
	release, err := l.Acquire(t.Context(), host, delay)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

// Two requests are admitted; the third waits until one ends. Releasing twice is
// releasing once.
func TestTwoAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l politeness.HostLimiter
		first, second := acquire(t, &l, "a", 0), acquire(t, &l, "a", 0)
		acquire(t, &l, "b", 0)()
		admitted := make(chan func())
		for range 2 {
			go func() {
				release, _ := l.Acquire(t.Context(), "a", 0)
				admitted <- release
			}()
		}
		synctest.Wait()
		select {
		case <-admitted:
			t.Fatal("a third was admitted")
		default:
		}
		first()
		first()
		third := <-admitted
		synctest.Wait()
		select {
		case <-admitted:
			t.Fatal("a fourth was admitted by releasing twice")
		default:
		}
		second()
		(<-admitted)()
		third()
	})
}

// Between two requests lies the delay of the later one; the first does not wait.
// advance moves the clock of a bubble, and waits until all that was due then has
// happened.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l politeness.HostLimiter
		start := time.Now()
		var at []time.Duration
		for range 3 {
			acquire(t, &l, "a", 5*time.Second)()
			at = append(at, time.Since(start))
		}
		acquire(t, &l, "b", 5*time.Second)()
		acquire(t, &l, "a", 0)()
		if at[0] != 0 || at[1] != 5*time.Second || at[2] != 10*time.Second || time.Since(start) != 10*time.Second {
			t.Errorf("admitted after %v, the last after %v", at, time.Since(start))
		}
		advance(time.Hour)
		start = time.Now()
		acquire(t, &l, "a", 5*time.Second)()
		if time.Since(start) != 0 {
			t.Error("an old request delays")
		}
	})
}

func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l politeness.HostLimiter
		acquire(t, &l, "a", time.Minute)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, "a", 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("within the delay: %v", err)
		}
		first, second := acquire(t, &l, "b", 0), acquire(t, &l, "b", 0)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, "b", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at a busy host: %v", err)
		}
		first()
		second()
		acquire(t, &l, "b", 0)()
	})
}

func TestRobots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status      int
		body        string
		path, agent string
		kind        tool.Kind
		delay       time.Duration
	}{
		"none":                {404, "", "/x", "callgate", "", 0},
		"forbidden":           {403, "User-agent: *\nDisallow: /", "/x", "callgate", "", 0},
		"empty":               {200, "", "/x", "callgate", "", 0},
		"all":                 {200, "User-agent: *\nDisallow: /", "/x", "callgate", tool.Denied, 0},
		"nothing":             {200, "User-agent: *\nDisallow:", "/x", "callgate", "", 0},
		"another":             {200, "User-agent: other\nDisallow: /", "/x", "callgate", "", 0},
		"by name":             {200, "User-agent: *\nAllow: /\nUser-agent: CallGate\nDisallow: /", "/x", "callgate", tool.Denied, 0},
		"the longer rule":     {200, "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", "callgate", "", 0},
		"a query":             {200, "User-agent: *\nDisallow: /*?s=", "/a?s=1", "callgate", tool.Denied, 0},
		"a delay":             {200, "User-agent: *\nCrawl-delay: 3\nDisallow: /z", "/x", "callgate", "", 3 * time.Second},
		"a long delay":        {200, "User-agent: *\nCrawl-delay: 3600\nDisallow: /z", "/x", "callgate", "", 10 * time.Second},
		"nonsense among it":   {200, "<<<\nUser-agent: *\nCrawl-delay: soon\nHost: x\nDisallow: /x # here\n\x00\xff", "/x", "callgate", tool.Denied, 0},
		"with the other line": {200, "User-agent: *\r\nDisallow: /x\r\n", "/x", "callgate", tool.Denied, 0},
		"with a mark":         {200, "\ufeffUser-agent: *\nDisallow: /x", "/x", "callgate", tool.Denied, 0},
		"a failure":           {500, "", "/x", "callgate", tool.Failed, 0},
		"redirects":           {302, "", "/x", "callgate", "", 0},
	} {
		var r politeness.Robots
		u, err := url.Parse("https://example.com" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		fetches := 0
		fetch := func(_ context.Context, at *url.URL) (int, []byte, error) {
			if fetches++; at.String() != "https://example.com/robots.txt" {
				t.Errorf("%s: fetched %s", name, at)
			}
			return c.status, []byte(c.body), nil
		}
		for range 2 {
			delay, err := r.Allowed(t.Context(), u, c.agent, fetch)
			if tool.KindOf(err) != c.kind || delay != c.delay {
				t.Errorf("%s: %v, %v", name, delay, err)
			}
		}
		if want := 1; c.status < 500 && fetches != want {
			t.Errorf("%s: fetched %d times", name, fetches)
		}
	}
	var r politeness.Robots
	lost := errors.New("no network")
	u := &url.URL{Scheme: "https", Host: "example.com"}
	if _, err := r.Allowed(t.Context(), u, "x",
		func(context.Context, *url.URL) (int, []byte, error) { return 0, nil, lost }); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

// A robots.txt is fetched again after an hour.
func TestRobotsAreFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r politeness.Robots
		fetches := 0
		check := func() {
			t.Helper()
			u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
			if _, err := r.Allowed(t.Context(), u, "x",
				func(context.Context, *url.URL) (int, []byte, error) { fetches++; return 404, nil, nil }); err != nil {
				t.Fatal(err)
			}
		}
		check()
		check()
		advance(2 * time.Hour)
		check()
		if fetches != 2 {
			t.Errorf("fetched %d times", fetches)
		}
	})
}

func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /*.php$\nCrawl-delay: 1", "/a.php")
	f.Add("User-agent: x\nUser-agent: y\nAllow: (((\n", "/")
	f.Fuzz(func(t *testing.T, body, path string) {
		if len(body) > 4096 || strings.ContainsRune(path, 0) {
			return
		}
		var r politeness.Robots
		delay, err := r.Allowed(t.Context(), &url.URL{Scheme: "https", Host: "example.com", Path: "/" + path}, "callgate",
			func(context.Context, *url.URL) (int, []byte, error) { return 200, []byte(body), nil })
		if kind := tool.KindOf(err); delay < 0 || delay > 10*time.Second || kind != "" && kind != tool.Denied {
			t.Errorf("%v, %v", delay, err)
		}
	})
}
