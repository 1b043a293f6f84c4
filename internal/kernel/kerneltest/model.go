package kerneltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Answer is one answer of a scripted model.
type Answer struct {
	Text    string
	Calls   []string        // as "name {json}"
	Reached chan<- struct{} // closed when the request comes; may be nil
	After   <-chan struct{} // the answer waits for it; may be nil
	Refusal string          // the request is refused with this as the body; empty: it is answered
	Status  int             // of a refusal; 0: 400
	Wait    string          // a refusal asks to be asked again after so many seconds; empty: it does not say
	Stop    string          // why the answer ends, in the provider's word; empty: it is whole
	Usage   Usage           // zero: a hundred tokens read, ten written
}

// Usage is what an answer says it took, in tokens.
type Usage struct{ Input, Cached, Output int }

// Model plays a provider on loopback, in both dialects: each request is answered
// by the next answer of its script. It keeps what it was asked.
type Model struct {
	*httptest.Server

	mu      sync.Mutex
	script  []Answer
	decide  func(request json.RawMessage) Answer // in place of a script; may be nil
	asked   []json.RawMessage
	stopAt  int           // the request that is never answered; 0: none
	within  bool          // it is answered in part
	stopped chan struct{} // receives when that request has come
}

// NewModel starts a scripted model, which ends with the test.
func NewModel(t testing.TB, script ...Answer) *Model {
	m := &Model{script: script}
	m.Server = httptest.NewServer(http.HandlerFunc(m.ServeHTTP))
	t.Cleanup(m.Close)
	return m
}

// NewModelOf starts a model that answers each request as decide says, whatever came before:
// one that is asked again after a kill answers the same. It ends with the test.
func NewModelOf(t testing.TB, decide func(request json.RawMessage) Answer) *Model {
	m := NewModel(t)
	m.decide = decide
	return m
}

// Brain describes the model in an app file, under a provider and a name that are
// known.
func (m *Model) Brain(provider, name string, more ...string) string {
	fields := append([]string{
		"provider: " + provider, "model: " + name,
		fmt.Sprintf("config: {base_url: %q, api_key: key-of-the-test}", m.URL),
	}, more...)
	return "{" + strings.Join(fields, ", ") + "}"
}

// Play gives the model a new script, and has it answer everything.
func (m *Model) Play(script ...Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.stopAt = script, 0
}

// StopAt has one request never be answered; the channel receives when it has
// come.
func (m *Model) StopAt(request int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopAt, m.within, m.stopped = request, false, make(chan struct{}, 8)
	return m.stopped
}

// StopWithin has the answer to one request stop in its middle; the channel
// receives when it has.
func (m *Model) StopWithin(request int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopAt, m.within, m.stopped = request, true, make(chan struct{}, 8)
	return m.stopped
}

// Asked returns the bodies of the requests so far.
func (m *Model) Asked() []json.RawMessage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[:len(m.asked):len(m.asked)]
}

// Last returns the body of the last request.
func (m *Model) Last() string {
	asked := m.Asked()
	return string(asked[len(asked)-1])
}

// ServeHTTP answers a request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.asked = append(m.asked, body)
	next := Answer{Text: "the script is over"}
	if len(m.script) > 0 {
		next, m.script = m.script[0], m.script[1:]
	}
	if m.decide != nil {
		next = m.decide(body)
	}
	after := next.After
	if m.stopAt > 0 && len(m.asked) == m.stopAt {
		after = make(chan struct{}) // for ever
		if m.within {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, halves(inChat(next))[0])
			_ = http.NewResponseController(w).Flush()
		}
		m.stopped <- struct{}{}
	}
	m.mu.Unlock()
	if next.Reached != nil {
		close(next.Reached)
	}
	if after != nil {
		select {
		case <-after:
		case <-r.Context().Done():
			return
		}
	}
	if next.Refusal != "" {
		w.Header().Set("Content-Type", "application/json")
		if next.Wait != "" {
			w.Header().Set("Retry-After", next.Wait)
		}
		w.WriteHeader(cmp.Or(next.Status, http.StatusBadRequest))
		_, _ = io.WriteString(w, next.Refusal)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = io.WriteString(w, inMessages(next))
		return
	}
	_, _ = io.WriteString(w, inChat(next))
}
