package embedapi_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/search/embedapi"
	"callgate/tool"
)

// asked is a request as a server reads it.
type asked struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Format     string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
}

type item struct {
	Index     int `json:"index"`
	Embedding any `json:"embedding"`
}

// raw is the vector that the servers here give a text, before scaling.
func raw(text string) []float32 {
	return []float32{float32(len(text)), 2, float32(text[0])}
}

// scaled is what a caller must get for it.
func scaled(text string) []float32 {
	row := raw(text)
	var sum float64
	for _, x := range row {
		sum += float64(x) * float64(x)
	}
	for i := range row {
		row[i] = float32(float64(row[i]) / math.Sqrt(sum))
	}
	return row
}

// model answers well, the last text first.
func model(w http.ResponseWriter, r *http.Request) {
	var q asked
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var items []item
	for i, text := range q.Input {
		items = append(items, item{i, raw(text)})
	}
	slices.Reverse(items)
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": items})
}

// serve runs a server on the loopback and returns an endpoint for it.
func serve(t testing.TB, o embedapi.Options, h http.HandlerFunc) *embedapi.Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	if o.URL == "" {
		o.URL = s.URL
	}
	o.Client = s.Client()
	return open(t, o)
}

func open(t testing.TB, o embedapi.Options) *embedapi.Endpoint {
	t.Helper()
	e, err := embedapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func texts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.Repeat(string(rune('a'+i%26)), i%17+1)
	}
	return all
}

var near = cmpopts.EquateApprox(0, 1e-6)

func check(t *testing.T, texts []string, got [][]float32) {
	t.Helper()
	var want [][]float32
	for _, text := range texts {
		want = append(want, scaled(text))
	}
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("vectors (-want +got):\n%s", diff)
	}
}

func TestURL(t *testing.T) {
	for name, c := range map[string]struct{ url, want, errHas string }{
		"base":             {"http://localhost:11434", "http://localhost:11434/v1/embeddings", ""},
		"slash":            {"http://localhost:11434/", "http://localhost:11434/v1/embeddings", ""},
		"v1":               {"http://localhost:11434/v1", "http://localhost:11434/v1/embeddings", ""},
		"v1 slash":         {"http://localhost:11434/v1/", "http://localhost:11434/v1/embeddings", ""},
		"whole":            {" https://Models.Example/v1/embeddings/ ", "https://models.example/v1/embeddings", ""},
		"below a path":     {"https://models.example/team/v1", "https://models.example/team/v1/embeddings", ""},
		"path alone":       {"https://models.example/team", "https://models.example/team/v1/embeddings", ""},
		"version of own":   {"https://models.example/v2/embeddings", "https://models.example/v2/embeddings", ""},
		"v6":               {"http://[::1]:8080", "http://[::1]:8080/v1/embeddings", ""},
		"nothing":          {"  ", "", "no URL"},
		"no scheme":        {"localhost:11434", "", "http://"},
		"number, no port":  {"127.0.0.1:8080", "", "cannot be read"},
		"file":             {"file:///etc/passwd", "", "http://"},
		"no host":          {"http:///v1", "", "no host"},
		"password":         {"http://me:hunter2@models.example", "", "password"},
		"bare password":    {"me:hunter2@models.example", "", "http://"},
		"broken password":  {"http://me:hunter2@models.example:port", "", "cannot be read"},
		"query":            {"http://models.example?key=hunter2", "", "?"},
		"fragment":         {"http://models.example#hunter2", "", "#"},
		"a newline inside": {"http://models.example/\nhunter2", "", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := embedapi.New(embedapi.Options{URL: c.url, Model: "m"})
			if c.errHas != "" {
				if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.errHas) || strings.Contains(err.Error(),
					"hunter2") {
					t.Fatalf("%v, want %q", err, c.errHas)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := c.want + " m 0"; e.ID() != want {
				t.Errorf("ID %q, want %q", e.ID(), want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]embedapi.Options{
		"batch":        {Batch: -1},
		"dimensions":   {Dimensions: -1},
		"timeout":      {Timeout: -1},
		"key in lines": {Key: "sk-one\nX-Other: two"},
		"key in words": {Key: "Bearer sk-one"},
	} {
		o.URL = "http://models.example"
		if _, err := embedapi.New(o); tool.KindOf(err) != tool.Invalid || strings.Contains(err.Error(), "sk-one") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := open(t, embedapi.Options{URL: "http://models.example", Model: "m", Key: "one", Dimensions: 64})
	b := open(t, embedapi.Options{URL: "http://models.example/v1/", Model: "m", Key: "two", Dimensions: 64, Batch: 3})
	other := open(t, embedapi.Options{URL: "http://models.example", Model: "m"})
	if a.ID() != b.ID() || a.ID() == other.ID() {
		t.Errorf("%q, %q and %q", a.ID(), b.ID(), other.ID())
	}
}

func TestEmbedAll(t *testing.T) {
	var mu sync.Mutex
	var sizes []int
	e := serve(t, embedapi.Options{Model: "small", Key: " sk-1 ", Dimensions: 3},
		func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var q asked
			if err := json.Unmarshal(body, &q); err != nil {
				t.Error(err)
			}
			mu.Lock()
			sizes = append(sizes, len(q.Input))
			mu.Unlock()
			q.Input = nil
			if diff := cmp.Diff(asked{Model: "small", Format: "float", Dimensions: 3}, q); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if got := r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization"); got != "POST /v1/embeddings Bearer sk-1" {
				t.Errorf("asked %q", got)
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			model(w, r)
		})
	all := texts(150)
	got, err := e.EmbedAll(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	check(t, all, got)
	if diff := cmp.Diff([]int{64, 64, 22}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if none, err := e.EmbedAll(t.Context(), nil); none != nil || err != nil || len(sizes) != 3 {
		t.Errorf("nothing to embed: %v, %v, %d requests", none, err, len(sizes))
	}
	if _, err := e.EmbedAll(t.Context(), []string{"a", " \n"}); tool.KindOf(err) != tool.Invalid || len(sizes) != 3 {
		t.Errorf("an empty text: %v, %d requests", err, len(sizes))
	}
}

// What is left out of the options is left out of the request.
func TestBareRequest(t *testing.T) {
	e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if want := `{"input":["x"],"encoding_format":"float"}`; string(body) != want {
			t.Errorf("asked %s, want %s", body, want)
		}
		for _, h := range []string{"Authorization", "Idempotency-Key"} {
			if _, ok := r.Header[h]; ok {
				t.Errorf("%s was sent", h)
			}
		}
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[3,4]}]}`)
	})
	got, err := e.EmbedAll(t.Context(), []string{"x"})
	if diff := cmp.Diff([][]float32{{0.6, 0.8}}, got, near); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestBase64(t *testing.T) {
	e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		var packed []byte
		for _, x := range raw("abc") {
			packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(x))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []item{{0, base64.StdEncoding.EncodeToString(packed)}}})
	})
	got, err := e.EmbedAll(t.Context(), []string{"abc"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, []string{"abc"}, got)
}

// A server that takes fewer texts at once than we send gets fewer.
func TestHalving(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		says   string
		most   int // texts the server takes
		errHas string
		calls  int32 // at most
	}{
		"too large a body": {413, "", 9, "", 16},
		"named in words":   {422, `{"message":"batch size 64 > maximum allowed batch size 32","code":422}`, 32, "", 5},
		"named by another": {400,
			`{"error":{"message":"Value error, batch size is invalid, it should not be larger than 10."}}`, 10, "", 16},
		"not even one": {413, `{"error":"text too long"}`, 0, "too long", 7},
		"one text's length": {400, `{"error":{"message":"input is too large, increase the physical batch size"}}`, 0,
			"physical", 1},
		"another 400 at all": {400, `{"error":{"message":"no"}}`, 0, `"no"`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				body, _ := io.ReadAll(r.Body)
				var q asked
				if err := json.Unmarshal(body, &q); err != nil || len(q.Input) > c.most {
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.says)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				model(w, r)
			})
			all := texts(100)
			got, err := e.EmbedAll(t.Context(), all)
			if n := calls.Load(); n > c.calls {
				t.Errorf("%d requests, want at most %d", n, c.calls)
			}
			if c.errHas != "" {
				if tool.KindOf(err) != tool.Invalid || !strings.Contains(err.Error(), c.errHas) {
					t.Errorf("%v, want %q", err, c.errHas)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, all, got)
		})
	}
}

// What was computed before an error is not lost with it.
func TestPrefixWithError(t *testing.T) {
	var calls atomic.Int32
	e := serve(t, embedapi.Options{Batch: 4}, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 3 {
			http.Error(w, "out of memory", http.StatusInternalServerError)
			return
		}
		model(w, r)
	})
	all := texts(20)
	got, err := e.EmbedAll(t.Context(), all)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("%v", err)
	}
	check(t, all[:8], got)
}

func TestRedirects(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for name, c := range map[string]struct {
		status int
		to     string
		errHas string
	}{
		"path moved":       {308, "/moved", ""},
		"for now":          {307, "/moved", ""},
		"would be a GET":   {302, "/moved", "drop the texts"},
		"another port":     {308, other.URL + "/v1/embeddings", "another host"},
		"another host":     {307, "http://models.invalid/x", "http://models.invalid"},
		"again and again":  {308, "/v1/embeddings", "again and again"},
		"unmoved, no goal": {308, "", "308"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, embedapi.Options{Key: "sk-1"}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					model(w, r)
					return
				}
				if c.to != "" {
					w.Header().Set("Location", c.to)
				}
				w.WriteHeader(c.status)
			})
			got, err := e.EmbedAll(t.Context(), []string{"abc"})
			if c.errHas == "" {
				if err != nil {
					t.Fatal(err)
				}
				check(t, []string{"abc"}, got)
			} else if err == nil || !strings.Contains(err.Error(), c.errHas) {
				t.Errorf("%v, want %q", err, c.errHas)
			}
		})
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("%d requests went astray", n)
	}
}

// What was to be encrypted is not sent in the clear.
func TestRedirectToPlain(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+"/v1/embeddings")
		w.WriteHeader(308)
	}))
	defer s.Close()
	e := open(t, embedapi.Options{URL: s.URL, Client: s.Client()})
	if _, err := e.EmbedAll(t.Context(), []string{"x"}); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("%v", err)
	}
}

// A server that dies while it answers is not taken at its word.
func TestBrokenOff(t *testing.T) {
	e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[3,4]}]}`)
		panic(http.ErrAbortHandler)
	})
	if got, err := e.EmbedAll(t.Context(), []string{"x"}); tool.KindOf(err) != tool.Unavailable ||
		!strings.Contains(err.Error(), "broke off") ||
		len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// The words of an error name what to do, and the server is not waited for
// longer than the asker has time.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	e := open(t, embedapi.Options{URL: "http://" + address})
	_, err = e.EmbedAll(t.Context(), []string{"x"})
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(),
		"start the server") {
		t.Errorf("%v", err)
	}
}

// An asker who goes away while the server thinks is answered at once.
func TestAskerLeaves(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	e := serve(t, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		leave()
		<-r.Context().Done()
		close(gone)
	})
	if _, err := e.EmbedAll(ctx, []string{"x"}); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("%v", err)
	}
	<-gone
}

func TestManyAtOnce(t *testing.T) {
	e := serve(t, embedapi.Options{Batch: 7}, model)
	all := texts(40)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			got, err := e.EmbedAll(t.Context(), all[i:])
			if err != nil {
				t.Error(err)
				return
			}
			check(t, all[i:], got)
		})
	}
	wg.Wait()
}

func BenchmarkEmbedAll(b *testing.B) {
	const dims = 1024
	row := make([]float32, dims)
	for i := range row {
		row[i] = float32(math.Sin(float64(i)))
	}
	var items []item
	for i := range 64 {
		items = append(items, item{i, row})
	}
	answer, err := json.Marshal(map[string]any{"data": items})
	if err != nil {
		b.Fatal(err)
	}
	e := serve(b, embedapi.Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	})
	all := texts(64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.EmbedAll(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReady(b *testing.B) {
	e := open(b, embedapi.Options{URL: "http://models.example"})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		if !e.Ready(at) {
			b.Fatal("down")
		}
	}
}
