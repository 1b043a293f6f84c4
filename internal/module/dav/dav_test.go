package dav_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/module/dav"
	"callgate/tool"
)

// at returns a client of a server, and what happens at it.
func at(t *testing.T, change func(*dav.Settings), serve http.HandlerFunc) *dav.Client {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	s := dav.Defaults()
	s.URL, s.PrivateHosts, s.MaxBytes = server.URL, []string{"127.0.0.1"}, 1<<20
	if change != nil {
		change(&s)
	}
	if err := s.Prepare("calendar"); err != nil {
		t.Fatal(err)
	}
	c, err := s.Client("calendar.test", "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}
}

const multistatus = `<d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:response><d:href>%s</d:href><d:propstat>` +
	`<d:prop><d:resourcetype><c:calendar/></d:resourcetype><d:displayname>%s</d:displayname></d:prop><d:status>HTTP/1.1 200 OK</d:status>` +
	`</d:propstat></d:response></d:multistatus>`

func TestHostileServers(t *testing.T) {
	t.Parallel()
	bomb := `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>` + fmt.Sprintf(multistatus, "/", "&b;")
	outside := `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + fmt.Sprintf(multistatus, "/", "&a;")
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		kind  tool.Kind
		text  string
	}{
		"no XML":              {answers(207, "hello"), tool.Failed, "does not answer as such a server does"},
		"half of it":          {answers(207, "<d:multistatus xmlns:d='DAV:'><d:response>"), tool.Failed, "does not answer"},
		"another document":    {answers(207, "<html/>"), tool.Failed, "does not answer"},
		"entities":            {answers(207, bomb), tool.Failed, "does not answer"},
		"a file by an entity": {answers(207, outside), tool.Failed, "does not answer"},
		"endless":             {answers(207, strings.Repeat("x", 2<<20)), tool.Failed, "max_bytes"},
		"elsewhere":           {answers(207, fmt.Sprintf(multistatus, "http://evil.example/x", "x")), tool.Denied, "another server"},
		"tells nothing":       {answers(207, `<d:multistatus xmlns:d="DAV:"/>`), tool.Failed, "does not say where"},
		"fails":               {answers(503, "overloaded"), tool.Unavailable, "overloaded"},
		"refuses":             {answers(401, ""), tool.Denied, "refused the login"},
		"leads away": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusMovedPermanently)
		}, tool.Denied, "another server"},
		"in a circle": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		}, tool.Failed, "in a circle"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that its client left
			<-r.Context().Done()
		}, tool.Timeout, "did not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := 30 * time.Second
			if c.kind == tool.Timeout {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := at(t, nil, c.serve).Collections(ctx, dav.Calendars)
			if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v (%s), want %s %q", err, tool.KindOf(err), c.kind, c.text)
			}
		})
	}
}

func TestRedirectKeepsTheRequest(t *testing.T) {
	t.Parallel()
	c := at(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/dav/", http.StatusMovedPermanently)
			return
		}
		user, password, _ := r.BasicAuth()
		if r.Method != "PROPFIND" || user != "" || password != "secret" || r.ContentLength == 0 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		answers(207, fmt.Sprintf(multistatus, "/dav/", "One"))(w, r)
	})
	all, err := c.Collections(t.Context(), dav.Calendars)
	if err != nil || len(all) != 1 || all[0].Name != "One" || all[0].Path != "/dav/" {
		t.Errorf("%+v %v", all, err)
	}
}

// TestLostAnswer: a change whose answer was lost may have happened.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	c := at(t, nil, func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	_, err := c.Create(t.Context(), "/x.ics", "text/calendar", []byte("x"))
	if tool.KindOf(err) != tool.InDoubt {
		t.Errorf("%v (%s)", err, tool.KindOf(err))
	}
	if _, err = c.Get(t.Context(), "/x.ics"); tool.KindOf(err) != tool.Failed {
		t.Errorf("%v (%s)", err, tool.KindOf(err))
	}
	gone := at(t, func(s *dav.Settings) { s.URL = "http://127.0.0.1:1/" }, answers(200, ""))
	if _, err = gone.Create(t.Context(), "/x.ics", "text/calendar", []byte("x")); tool.KindOf(err) != tool.Failed {
		t.Errorf("%v (%s)", err, tool.KindOf(err))
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ftp://x/": "no address", "x": "no address", "https://a:b@x/": "without a user", "http://dav.example.com/": "in the open",
	} {
		s := dav.Defaults()
		s.URL = text
		if err := s.Prepare("calendar"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s := dav.Defaults()
	if err := s.Prepare("calendar"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client("calendar.test", "x"); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	s.URL = "https://dav.example.com"
	if err := s.Prepare("calendar"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client("calendar.test", ""); tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "credential") {
		t.Errorf("%v", err)
	}
}

// TestOneVersion: an object is changed as one version that was seen, and never as any.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	c := at(t, nil, func(w http.ResponseWriter, _ *http.Request) { seen.Add(1) })
	for etag, sent := range map[string]int32{
		`"a1"`: 2, `W/"a1"`: 2, `"é-_:/"`: 2,
		`*`: 0, `"a", "b"`: 0, `"a","b"`: 0, `a1`: 0, `"a`: 0, `"`: 0, `W/*`: 0, `"a" `: 0, `"a b"`: 0, "\"a\r\nX: y\"": 0,
	} {
		seen.Store(0)
		o := dav.Object{Path: "/x.ics", ETag: etag}
		_, replaced := c.Replace(t.Context(), o, "text/calendar", []byte("x"))
		deleted := c.Delete(t.Context(), o)
		if seen.Load() != sent || sent == 0 && (tool.KindOf(replaced) != tool.Invalid || tool.KindOf(deleted) != tool.Invalid) {
			t.Errorf("%q: %d requests, %v, %v", etag, seen.Load(), replaced, deleted)
		}
	}
}
