package toolview_test

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/app"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/toolview"
	"callgate/internal/search/bench"
	"callgate/tool"
)

// embeddings plays an embeddings endpoint whose vectors are bags of words. It fails the test if it is told of a
// learned request as an example: it may be asked one as a query only, alone.
func embeddings(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		type item struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var out struct {
			Data []item `json:"data"`
		}
		for i, text := range in.Input {
			if len(in.Input) > 1 && strings.Contains(text, "plants") {
				t.Errorf("the endpoint is told of %q", text)
			}
			v := make([]float32, 64)
			v[0] = 0.01
			for _, word := range strings.Fields(strings.ToLower(text)) {
				h := fnv.New32a()
				_, _ = h.Write([]byte(word))
				v[1+h.Sum32()%63]++
			}
			out.Data = append(out.Data, item{i, v})
		}
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Ways to search are measured on what was really asked and called, and no learned request answers itself.
func TestCompare(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t), desk(t)...)
	folder := t.TempDir()
	s := kerneltest.OpenSession(t, k, folder)
	empty, err := s.View().Compare(t.Context(), k.Journal, nil, nil)
	if err != nil || empty.Requests != 0 || len(empty.Ways) != 0 || empty.Tools == 0 {
		t.Fatalf("without a request: %+v (%v)", empty, err)
	}
	for _, c := range []struct{ query, name string }{
		{"water the plants of the desk", "desk.beta"}, {"the desk needs its plants watered", "desk.beta"},
		{"count the drawers of a desk", "desk.alpha"}, {"a desk that is closed", "desk.gamma"},
	} {
		find(t, s, c.query, c.name)
		kerneltest.Call(t, s, c.name, `{}`)
	}
	// Another session in which the call was not one of the tools that were shown: the journal alone knows of it.
	other := kerneltest.OpenSession(t, k, folder)
	kerneltest.Write(t, filepath.Join(folder, "a.txt"), "hello")
	find(t, other, "a quite other desk", "desk.beta")
	if r := kerneltest.Call(t, other, "filesystem.read", `{"path":"a.txt"}`); r.Status != tool.Success {
		t.Fatal(r.Summary)
	}
	endpoints := []app.Endpoint{{URL: embeddings(t), Model: "scripted"}, {URL: "http://127.0.0.1:1", Model: "nobody"}}
	var c *toolview.Comparison
	kerneltest.Eventually(t, func() bool { // a query has three seconds, which a busy machine may not give it
		c, err = s.View().Compare(t.Context(), k.Journal, nil, endpoints)
		kerneltest.OK(t, err)
		return !slices.ContainsFunc(c.Ways, func(w bench.Measured) bool {
			return strings.HasSuffix(w.Name, "scripted") && w.ByKeywords > 0
		})
	})
	// The call that failed teaches nothing, and nothing follows it in the journal.
	if c.Requests != 4 || c.Learned != 3 || c.Log.Searches != 5 || c.Gone != 0 {
		t.Errorf("%d requests, %d learned, %d searches, %d gone", c.Requests, c.Learned, c.Log.Searches, c.Gone)
	}
	var names []string
	for _, w := range c.Ways {
		names = append(names, w.Name)
		switch {
		case strings.HasSuffix(w.Name, "nobody"):
			if w.Problem == "" || w.ByKeywords != c.Requests {
				t.Errorf("an endpoint that is down: %+v", w)
			}
		case w.Problem != "" || w.Median <= 0 || w.Recall1.Low > w.Recall1.Mean || w.Recall5.High < w.Recall5.Mean || w.Recall5.Mean <= 0:
			t.Errorf("%s: %+v", w.Name, w)
		}
	}
	want := "keywords; meaning, the built-in model; both, the built-in model; meaning, scripted; both, scripted; " +
		"meaning, nobody; both, nobody"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("measured %s", got)
	}
	// Only its like was learned of "water the plants of the desk" while it is asked, and that finds the tool.
	if best := wayOf(c, "both, the built-in model"); best < 0.5 {
		t.Errorf("the first is right for %.2f", best)
	}
}

func wayOf(c *toolview.Comparison, name string) float64 {
	for _, w := range c.Ways {
		if w.Name == name {
			return w.Recall1.Mean
		}
	}
	return -1
}
