package embedapi_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/search/embedapi"
	"callgate/tool"
)

// transport answers without a network, so that time can be that of a bubble.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// by makes a handler a client's whole world.
func by(h http.HandlerFunc) *http.Client {
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h(w, r)
		return w.Result(), nil
	})}
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func TestBadAnswers(t *testing.T) {
	nan := base64.StdEncoding.EncodeToString([]byte{0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0x3f})
	inf := base64.StdEncoding.EncodeToString([]byte{0, 0, 0x80, 0x7f, 0, 0, 0x80, 0x3f})
	for name, c := range map[string]struct{ body, errHas string }{
		"empty":             {"", "not the JSON"},
		"a page":            {"<html><title>Sign in</title></html>", "Sign in"},
		"a list":            {`[[1,2],[3,4]]`, "not the JSON"},
		"cut off":           {`{"data":[{"index":0,"embedding":[1,2`, "not the JSON"},
		"an error with 200": {`{"error":"Unexpected endpoint or method"}`, "Unexpected endpoint"},
		"no data":           {`{"object":"list"}`, "0 vectors for 2"},
		"one missing":       {`{"data":[{"index":0,"embedding":[1,2]}]}`, "1 vectors for 2"},
		"one too many":      {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`, "3 vectors for 2"},
		"no index":          {`{"data":[{"embedding":[1]},{"embedding":[2]}]}`, "no index"},
		"index twice": {`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[2]}]}`,
			"two vectors have the index 1"},
		"index below":  {`{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[2]}]}`, "index -1"},
		"index beyond": {`{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[2]}]}`, "index 2"},
		"index a text": {`{"data":[{"index":"0","embedding":[1]},{"index":"1","embedding":[2]}]}`, "not the JSON"},
		"no embedding": {`{"data":[{"index":0},{"index":1,"embedding":[2]}]}`, "text 1 of 2"},
		"null embedding": {`{"data":[{"index":0,"embedding":null},{"index":1,"embedding":[2]}]}`,
			"text 1 of 2 is not a list"},
		"null in it":         {`{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":[2,1]}]}`, "null"},
		"NaN in it":          {`{"data":[{"index":0,"embedding":[1,NaN]},{"index":1,"embedding":[2,1]}]}`, "not the JSON"},
		"too large a number": {`{"data":[{"index":0,"embedding":[1,1e39]},{"index":1,"embedding":[2,1]}]}`, "float32"},
		"one per token": {`{"data":[{"index":0,"embedding":[[1,2],[3,4]]},{"index":1,"embedding":[[2,1]]}]}`,
			"list of numbers"},
		"spaces": {`{"data":[{"index":0,"embedding":[ 1 , "2" ]},{"index":1,"embedding":[2,1]}]}`,
			"list of numbers"},
		"an object":         {`{"data":[{"index":0,"embedding":{"a":1}},{"index":1,"embedding":[2,1]}]}`, "not a list"},
		"empty with spaces": {`{"data":[{"index":0,"embedding":[ ]},{"index":1,"embedding":[2]}]}`, "is empty"},
		"empty vector":      {`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[2]}]}`, "is empty"},
		"zeros": {`{"data":[{"index":0,"embedding":[2,1]},{"index":1,"embedding":[0,0]}]}`,
			"text 2 of 2 is all zeros"},
		"ragged": {`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[2]}]}`,
			"text 2 has 1 numbers"},
		"base64 of NaN":       {`{"data":[{"index":0,"embedding":"` + nan + `"},{"index":1,"embedding":[2,1]}]}`, "NaN"},
		"base64 of Inf":       {`{"data":[{"index":0,"embedding":"` + inf + `"},{"index":1,"embedding":[2,1]}]}`, "infinite"},
		"base64 of 3 bytes":   {`{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":[2]}]}`, "float32"},
		"base64 of something": {`{"data":[{"index":0,"embedding":"%%"},{"index":1,"embedding":[2]}]}`, "base64"},
		"behind it more":      {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[2]}]} {}`, "not the JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, embedapi.Options{}, answering(200, c.body))
			got, err := e.EmbedAll(t.Context(), []string{"a", "b"})
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), c.errHas) || len(got) > 0 {
				t.Errorf("%v, %v, want %q", got, err, c.errHas)
			}
		})
	}
}

func TestOtherLengthsThanAsked(t *testing.T) {
	e := serve(t, embedapi.Options{Dimensions: 8}, model)
	if _, err := e.EmbedAll(t.Context(), []string{"a"}); tool.KindOf(err) != tool.Failed ||
		!strings.Contains(err.Error(), "leave dimensions out") {
		t.Errorf("%v", err)
	}
	calls := 0
	e = serve(t, embedapi.Options{Batch: 1}, func(w http.ResponseWriter, r *http.Request) {
		calls++
		answering(200, fmt.Sprintf(`{"data":[{"index":0,"embedding":[1%s]}]}`, strings.Repeat(",1", calls)))(w, r)
	})
	if _, err := e.EmbedAll(t.Context(), []string{"a", "b"}); tool.KindOf(err) != tool.Failed ||
		!strings.Contains(err.Error(), "have 3 numbers now, and had 2") {
		t.Errorf("a model that changed between two batches: %v", err)
	}
}

// An answer without an end is left alone in time.
func TestEndlessAnswer(t *testing.T) {
	e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1`)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(",1", 4096)); err != nil {
				return
			}
		}
	})
	if _, err := e.EmbedAll(t.Context(), []string{"a"}); tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
}

func TestStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		key    string
		kind   tool.Kind
		errHas string
		calls  int
		ready  bool // afterwards
	}{
		"no key":      {401, "", tool.Denied, "none is set", 1, false},
		"bad key":     {401, "sk-1", tool.Denied, "does not accept the key", 1, false},
		"forbidden":   {403, "sk-1", tool.Denied, "does not accept the key", 1, false},
		"no model":    {404, "", tool.NotFound, `"tiny" is there: pull or load it`, 1, false},
		"bad method":  {405, "", tool.NotFound, "check the URL", 1, false},
		"bad request": {400, "", tool.Invalid, "too long", 1, true},
		"bad entity":  {422, "", tool.Invalid, "too long", 1, true},
		"limited":     {429, "", tool.Limited, "later", 3, false},
		"broken":      {500, "", tool.Unavailable, "log", 1, false},
		"bad gateway": {502, "", tool.Unavailable, "loading", 3, false},
		"busy":        {503, "", tool.Unavailable, "loading", 3, false},
		"accepted":    {202, "", tool.Failed, "202 Accepted", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				e := open(t,
					embedapi.Options{URL: "http://models.example", Model: "tiny", Key: c.key,
						Client: by(func(w http.ResponseWriter, r *http.Request) {
							calls++
							answering(c.status, `{"error":{"message":"the server's words"}}`)(w, r)
						})})
				_, err := e.EmbedAll(t.Context(), []string{"x"})
				if tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.errHas) || !strings.Contains(err.Error(),
					"the server's words") {
					t.Errorf("%v (%s), want %q (%s)", err, tool.KindOf(err), c.errHas, c.kind)
				}
				if calls != c.calls || e.Ready(time.Now()) != c.ready {
					t.Errorf("%d calls, ready %v; want %d, %v", calls, e.Ready(time.Now()), c.calls, c.ready)
				}
			})
		})
	}
}

// When a second and a third try come, and when they do not.
func TestTryingAgain(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		fail    int    // requests that fail first
		after   string // what the server says of when
		dial    error
		limit   time.Duration // the asker's patience
		elapsed time.Duration
		calls   int
		kind    tool.Kind // "" is success
	}{
		"one failure":    {fail: 1, elapsed: 250 * time.Millisecond, calls: 2},
		"two failures":   {fail: 2, elapsed: 750 * time.Millisecond, calls: 3},
		"three failures": {fail: 3, elapsed: 750 * time.Millisecond, calls: 3, kind: tool.Unavailable},
		"refused once":   {fail: 1, dial: refused, elapsed: 250 * time.Millisecond, calls: 2},
		"refused always": {fail: 9, dial: refused, elapsed: 750 * time.Millisecond, calls: 3, kind: tool.Unavailable},
		"no such name": {fail: 9,
			dial: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, calls: 1,
			kind: tool.Unavailable},
		"at once":           {fail: 2, after: "0", calls: 3},
		"in seconds":        {fail: 1, after: "7", elapsed: 7 * time.Second, calls: 2},
		"at a date":         {fail: 1, after: "Sat, 01 Jan 2000 00:00:03 GMT", elapsed: 3 * time.Second, calls: 2},
		"at a date gone by": {fail: 1, after: "Fri, 31 Dec 1999 00:00:00 GMT", calls: 2},
		"at no time":        {fail: 1, after: "soon", elapsed: 250 * time.Millisecond, calls: 2},
		"below zero":        {fail: 1, after: "-5", elapsed: 250 * time.Millisecond, calls: 2},
		"too late":          {fail: 1, after: "11", calls: 1, kind: tool.Unavailable},
		"beyond counting":   {fail: 1, after: "9223372036854775807", calls: 1, kind: tool.Unavailable},
		"past the patience": {fail: 1, limit: 200 * time.Millisecond, calls: 1, kind: tool.Unavailable},
		"patience for one": {fail: 2, limit: 300 * time.Millisecond, elapsed: 250 * time.Millisecond, calls: 2,
			kind: tool.Unavailable},
		"patience for what asks": {fail: 1, after: "7", limit: 5 * time.Second, calls: 1, kind: tool.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				client := by(func(w http.ResponseWriter, r *http.Request) {
					if calls <= c.fail {
						if c.after != "" {
							w.Header().Set("Retry-After", c.after)
						}
						w.WriteHeader(http.StatusServiceUnavailable)
						return
					}
					model(w, r)
				})
				world := client.Transport
				client.Transport = transport(func(r *http.Request) (*http.Response, error) {
					if calls++; calls <= c.fail && c.dial != nil {
						return nil, c.dial
					}
					return world.RoundTrip(r)
				})
				e := open(t, embedapi.Options{URL: "http://models.example", Client: client})
				ctx, start := t.Context(), time.Now()
				if c.limit > 0 {
					limited, cancel := context.WithTimeout(ctx, c.limit)
					defer cancel()
					ctx = limited
				}
				_, err := e.EmbedAll(ctx, []string{"x"})
				if tool.KindOf(err) != c.kind || calls != c.calls || time.Since(start) != c.elapsed {
					t.Errorf("%v after %d calls and %s, want %q after %d and %s", err, calls, time.Since(start), c.kind, c.calls,
						c.elapsed)
				}
			})
		})
	}
}

func TestPatience(t *testing.T) {
	silent := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}
	t.Run("of the endpoint", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, embedapi.Options{URL: "http://models.example", Timeout: 5 * time.Second, Client: silent})
			start := time.Now()
			_, err := e.EmbedAll(t.Context(), []string{"x"})
			if tool.KindOf(err) != tool.Timeout || !strings.Contains(err.Error(),
				"more time") || time.Since(start) != 5*time.Second || e.Ready(time.Now()) {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	})
	t.Run("of the asker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, embedapi.Options{URL: "http://models.example", Client: silent})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := e.EmbedAll(ctx, []string{"x"}); tool.KindOf(err) != tool.Timeout || !errors.Is(err, context.DeadlineExceeded) ||
				e.Ready(time.Now()) {
				t.Errorf("a server that is too slow for a search: %v, ready %v", err, e.Ready(time.Now()))
			}
		})
	})
	t.Run("of one who had none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, embedapi.Options{URL: "http://models.example", Client: silent})
			ctx, cancel := context.WithTimeout(t.Context(), 0)
			defer cancel()
			if _, err := e.EmbedAll(ctx, []string{"x"}); tool.KindOf(err) != tool.Timeout || !e.Ready(time.Now()) {
				t.Errorf("nothing was asked, yet: %v, ready %v", err, e.Ready(time.Now()))
			}
		})
	})
	t.Run("ended by leaving", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, embedapi.Options{URL: "http://models.example", Client: silent})
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, leave)
			if _, err := e.EmbedAll(ctx, []string{"x"}); tool.KindOf(err) != tool.Cancelled || !errors.Is(err, context.Canceled) ||
				!e.Ready(time.Now()) {
				t.Errorf("who leaves says nothing of the server: %v, ready %v", err, e.Ready(time.Now()))
			}
		})
	})
	t.Run("ended between two tries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := open(t, embedapi.Options{URL: "http://models.example", Client: by(answering(503, ""))})
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, leave)
			start := time.Now()
			_, err := e.EmbedAll(ctx, []string{"x"})
			if tool.KindOf(err) != tool.Cancelled || time.Since(start) != 100*time.Millisecond || e.Ready(time.Now()) {
				t.Errorf("%v after %s, ready %v", err, time.Since(start), e.Ready(time.Now()))
			}
		})
	})
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 500
		e := open(t, embedapi.Options{URL: "http://models.example", Client: by(func(w http.ResponseWriter, r *http.Request) {
			if status == 200 {
				model(w, r)
				return
			}
			w.Header().Set("Retry-After", "40")
			w.WriteHeader(status)
		})})
		ask := func() { _, _ = e.EmbedAll(t.Context(), []string{"x"}) }
		down := func(want time.Duration) {
			t.Helper()
			now := time.Now()
			if e.Ready(now) || e.Ready(now.Add(want-1)) || !e.Ready(now.Add(want)) {
				t.Errorf("not down for %s", want)
			}
			<-time.After(want)
		}
		if !e.Ready(time.Now()) {
			t.Error("down before anything was asked")
		}
		for _, seconds := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			ask()
			ask() // was begun before, as it were
			down(seconds * time.Second)
		}
		status = 200
		ask()
		if !e.Ready(time.Now()) {
			t.Error("down after a success")
		}
		status = 500
		ask()
		if !e.Ready(time.Now().Add(-time.Hour)) {
			t.Error("a clock set back keeps it down for an hour")
		}
		down(time.Second)
		status = 429
		ask() // which says itself how long
		down(40 * time.Second)
	})
}

// Failures side by side are one failure, and Ready never waits for them.
func TestFailuresSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := open(t,
			embedapi.Options{URL: "http://models.example",
				Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
					<-time.After(100 * time.Millisecond)
					return nil, errors.New("cut off")
				})}})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				_, _ = e.EmbedAll(t.Context(), []string{"x"})
				_ = e.Ready(time.Now())
			})
		}
		wg.Wait()
		if now := time.Now(); e.Ready(now) || !e.Ready(now.Add(time.Second)) {
			t.Error("sixteen failures at once made it down for other than a second")
		}
	})
}

// However a server or a transport repeats the key, no error does.
func TestKeyStaysHidden(t *testing.T) {
	const key = `sk-s3cr3t&"<key>/+%`
	spellings := map[string]string{"plain": key, "query": url.QueryEscape(key), "path": url.PathEscape(key),
		"html": html.EscapeString(key)}
	for spelling, said := range spellings {
		quoted := strings.ReplaceAll(said, `"`, `\"`)
		for shape, body := range map[string]string{
			"message": `{"error":{"message":"Incorrect key ` + quoted + ` given"}}`,
			"string":  `{"error":"` + quoted + `"}`,
			"detail":  `{"detail":"` + strings.Repeat("x", 190) + quoted + `"}`,
			"other":   `{"what":"` + quoted + `"}`,
			"text":    "bad key " + said,
		} {
			for _, status := range []int{200, 302, 400, 401, 404, 500} {
				e := serve(t, embedapi.Options{Key: key, Model: "m"}, answering(status, body))
				if _, err := e.EmbedAll(t.Context(), []string{"x"}); err == nil || leaks(err, key, "s3cr3t") {
					t.Errorf("%s, %s, %d: %v", spelling, shape, status, err)
				}
			}
		}
		e := serve(t, embedapi.Options{Key: key}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://models.invalid/"+strings.ReplaceAll(said, "%", "%25"))
			w.WriteHeader(308)
		})
		if _, err := e.EmbedAll(t.Context(), []string{"x"}); err == nil || leaks(err, key, "s3cr3t") {
			t.Errorf("%s in a redirect: %v", spelling, err)
		}
	}
	e := open(t,
		embedapi.Options{URL: "http://models.example", Key: key,
			Client: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("refused %s", r.Header.Get("Authorization"))
			})}})
	if _, err := e.EmbedAll(t.Context(), []string{"x"}); err == nil || leaks(err, key, "s3cr3t") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("in a transport's error: %v", err)
	}
}

// leaks looks for a key, or its heart, in an error and all that it wraps.
func leaks(err error, parts ...string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) }) {
			return true
		}
	}
	return false
}

func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}`,
		`{"data":[{"index":0,"embedding":"AACAPwAAAEA="},{"index":1,"embedding":"AACAPwAAAEA="}]}`,
		`{"data":[{"index":0,"embedding":[1e-45]},{"index":1,"embedding":[3.4e38]}]}`,
		`{"error":{"message":"sk-s3cr3t"}}`, `{"error":null,"data":null}`, `null`, `sk-s3cr3t`, ``,
	} {
		f.Add(200, body)
		f.Add(400, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 || status == 429 || status == 502 || status == 503 {
			t.Skip("not an answer, or one that is waited for")
		}
		e := open(t, embedapi.Options{URL: "http://models.example", Key: "sk-s3cr3t", Client: by(answering(status, body))})
		rows, err := e.EmbedAll(t.Context(), []string{"a", "b"})
		if err != nil {
			if len(rows) > 0 || leaks(err, "sk-s3cr3t") || tool.KindOf(err) == tool.Internal {
				t.Fatalf("%v with %v", err, rows)
			}
			return
		}
		if status != 200 || len(rows) != 2 || len(rows[0]) == 0 || len(rows[0]) != len(rows[1]) {
			t.Fatalf("status %d gave %v", status, rows)
		}
		for _, row := range rows {
			var sum float64
			for _, x := range row {
				sum += float64(x) * float64(x)
			}
			if math.Abs(sum-1) > 1e-4 {
				t.Fatalf("length %g of %v", sum, row)
			}
		}
	})
}
