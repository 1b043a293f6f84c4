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

func enter(t *testing.T, g *politeness.HostLimiter, host string, delay time.Duration) func() {
	t.Helper()
	leave, err := g.Acquire(t.Context(), host, delay)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// Two are let in; the third waits until one leaves, and leaving twice is
// leaving once.
func TestRoomForTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g politeness.HostLimiter
		first, second := enter(t, &g, "a", 0), enter(t, &g, "a", 0)
		enter(t, &g, "b", 0)()
		in := make(chan func())
		for range 2 {
			go func() {
				leave, _ := g.Acquire(t.Context(), "a", 0)
				in <- leave
			}()
		}
		synctest.Wait()
		select {
		case <-in:
			t.Fatal("a third was let in")
		default:
		}
		first()
		first()
		third := <-in
		synctest.Wait()
		select {
		case <-in:
			t.Fatal("a fourth was let in by leaving twice")
		default:
		}
		second()
		(<-in)()
		third()
	})
}

// Between two requests lies the delay of the later one; the first waits for
// nobody.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g politeness.HostLimiter
		start := time.Now()
		var at []time.Duration
		for range 3 {
			enter(t, &g, "a", 5*time.Second)()
			at = append(at, time.Since(start))
		}
		enter(t, &g, "b", 5*time.Second)()
		enter(t, &g, "a", 0)()
		if at[0] != 0 || at[1] != 5*time.Second || at[2] != 10*time.Second || time.Since(start) != 10*time.Second {
			t.Errorf("let in after %v, the last after %v", at, time.Since(start))
		}
		time.Sleep(time.Hour)
		start = time.Now()
		enter(t, &g, "a", 5*time.Second)()
		if time.Since(start) != 0 {
			t.Error("an old visit delays")
		}
	})
}

func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g politeness.HostLimiter
		enter(t, &g, "a", time.Minute)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Acquire(ctx, "a", 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("within the delay: %v", err)
		}
		first, second := enter(t, &g, "b", 0), enter(t, &g, "b", 0)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Acquire(ctx, "b", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("at a full gate: %v", err)
		}
		first()
		second()
		enter(t, &g, "b", 0)()
	})
}

func TestRobots(t *testing.T) {
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
		asked := 0
		ask := func(_ context.Context, at *url.URL) (int, []byte, error) {
			if asked++; at.String() != "https://example.com/robots.txt" {
				t.Errorf("%s: asked for %s", name, at)
			}
			return c.status, []byte(c.body), nil
		}
		for range 2 {
			delay, err := r.Allowed(t.Context(), u, c.agent, ask)
			if tool.KindOf(err) != c.kind || delay != c.delay {
				t.Errorf("%s: %v, %v", name, delay, err)
			}
		}
		if want := 1; c.status < 500 && asked != want {
			t.Errorf("%s: asked %d times", name, asked)
		}
	}
	var r politeness.Robots
	lost := errors.New("no network")
	u := &url.URL{Scheme: "https", Host: "example.com"}
	if _, err := r.Allowed(t.Context(), u, "x", func(context.Context, *url.URL) (int, []byte, error) { return 0, nil, lost }); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

// What is known of a host is asked again after an hour.
func TestRobotsAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r politeness.Robots
		asked := 0
		may := func() {
			t.Helper()
			u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
			if _, err := r.Allowed(t.Context(), u, "x", func(context.Context, *url.URL) (int, []byte, error) { asked++; return 404, nil, nil }); err != nil {
				t.Fatal(err)
			}
		}
		may()
		may()
		time.Sleep(2 * time.Hour)
		may()
		if asked != 2 {
			t.Errorf("asked %d times", asked)
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
