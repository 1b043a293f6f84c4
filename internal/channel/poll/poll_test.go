package poll_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/poll"
	"callgate/internal/netguard"
	"callgate/tool"
)

// source is a server whose answer changes.
type source struct {
	mu       sync.Mutex
	body     string
	etag     string
	status   int
	requests []http.Header
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Header)
	w.Header().Set("ETag", s.etag)
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
	case s.etag != "" && r.Header.Get("If-None-Match") == s.etag:
		w.WriteHeader(http.StatusNotModified)
	default:
		fmt.Fprint(w, s.body)
	}
}

func (s *source) set(body, etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.body, s.etag = body, etag
}

// look has a receiver look once, as after a restart, and returns what it passed on.
func look(t *testing.T, o poll.Options, keep func(channel.Event) error) ([]channel.Event, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []channel.Event
	var result error
	o.Interval = time.Hour
	o.Report = func(err error) {
		result = err
		cancel()
	}
	if o.Guard == nil {
		o.Guard = guard(t, "127.0.0.1")
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	err := poll.New(o).Receive(ctx, func(e channel.Event) error {
		if keep != nil {
			if err := keep(e); err != nil {
				return err
			}
		}
		events = append(events, e)
		return nil
	})
	return events, errors.Join(err, result)
}

func guard(t *testing.T, private ...string) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(netguard.Rules{Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

const rssHead = `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>`

func rss(ids ...string) string {
	text := rssHead
	for _, id := range ids {
		text += "<item><guid>" + id + "</guid><title>about " + id + "</title><link>https://x.test/" + id + "</link>" +
			"<description>&lt;b&gt;" + id + "&lt;/b&gt;</description></item>"
	}
	return text + "</channel></rss>"
}

func titles(events []channel.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Title)
	}
	return strings.Join(all, ", ")
}

func TestFeed(t *testing.T) {
	t.Parallel()
	s := &source{}
	server := httptest.NewServer(s)
	defer server.Close()
	o := poll.Options{URL: server.URL, State: &channeltest.State{}}
	steps := []struct{ body, etag, want string }{
		{rss("b", "a"), `"1"`, ""}, // what is there at first is not news
		{rss("b", "a"), `"1"`, ""},
		{rss("d", "c", "b", "a"), `"2"`, "about c, about d"},
		{rss("e", "d"), "", "about e"},
		{rss("d", "c", "b"), "", ""}, // old ones that come back
	}
	for i, step := range steps {
		s.set(step.body, step.etag)
		events, err := look(t, o, nil)
		if err != nil || titles(events) != step.want {
			t.Errorf("look %d: %q, %v; want %q", i, titles(events), err, step.want)
		}
	}
	if got := s.requests[1].Get("If-None-Match"); got != `"1"` {
		t.Errorf("the second request named %q", got)
	}
	// Another source under the same name is a new one.
	o.URL += "/other"
	if events, err := look(t, o, nil); err != nil || len(events) > 0 {
		t.Errorf("another source: %v %v", titles(events), err)
	}
	o.First, o.State = true, &channeltest.State{}
	if events, err := look(t, o, nil); err != nil || titles(events) != "about b, about c, about d" ||
		string(events[0].Body) != "<b>b</b>" || events[0].Facts[1].Value != "https://x.test/b" {
		t.Errorf("first: %+v %v", events, err)
	}
}

// An entry that could not be kept is offered again, with those before it, under the same
// IDs.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	s := &source{body: rss("c", "b", "a"), etag: `"1"`}
	server := httptest.NewServer(s)
	defer server.Close()
	o := poll.Options{URL: server.URL, State: &channeltest.State{}, First: true}
	var offered []string
	first, err := look(t, o, func(e channel.Event) error {
		offered = append(offered, e.ID)
		if e.Title == "about b" {
			return errors.New("the disk is full")
		}
		return nil
	})
	if err == nil || titles(first) != "about a" {
		t.Errorf("%v %v", titles(first), err)
	}
	again, err := look(t, o, func(e channel.Event) error {
		offered = append(offered, e.ID)
		return nil
	})
	if err != nil || len(offered) != 5 || offered[0] != offered[2] || offered[1] != offered[3] {
		t.Errorf("%v, offered %v: %v", titles(again), offered, err)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := &source{body: "one"}
	server := httptest.NewServer(s)
	defer server.Close()
	o := poll.Options{URL: server.URL, Page: true, State: &channeltest.State{}, Headers: map[string]string{"X-Key": "k"}}
	ids := map[string]bool{}
	for i, step := range []struct {
		body string
		news bool
	}{{"one", false}, {"one", false}, {"two", true}, {"one", true}, {"two", true}, {"two", false}} {
		s.set(step.body, "")
		events, err := look(t, o, nil)
		if err != nil || (len(events) == 1) != step.news {
			t.Errorf("look %d: %v %v", i, events, err)
		}
		for _, e := range events {
			if ids[e.ID] || string(e.Body) != step.body {
				t.Errorf("look %d: %+v", i, e)
			}
			ids[e.ID] = true
		}
	}
	if s.requests[0].Get("X-Key") != "k" {
		t.Error("the header was not sent")
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	s := &source{body: "<html><body>no feed</body></html>"}
	server := httptest.NewServer(s)
	defer server.Close()
	for name, c := range map[string]struct {
		change func(*poll.Options)
		status int
		kind   tool.Kind
	}{
		"no feed":  {func(*poll.Options) {}, 0, tool.Failed},
		"too long": {func(o *poll.Options) { o.MaxBody = 5 }, 0, tool.Failed},
		"guarded":  {func(o *poll.Options) { o.Guard = guard(t) }, 0, tool.Denied},
		"gone":     {func(*poll.Options) {}, http.StatusGone, tool.Unavailable},
		"nobody":   {func(o *poll.Options) { o.URL = "http://127.0.0.1:1/" }, 0, tool.Unavailable},
	} {
		o := poll.Options{URL: server.URL, State: &channeltest.State{}}
		c.change(&o)
		s.mu.Lock()
		s.status = c.status
		s.mu.Unlock()
		if _, err := look(t, o, nil); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}
