package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"callgate/internal/protocol/messagescan"
	"callgate/tool"
)

// forwarded is a request of a client over HTTP that is sent on to the kernel. If the
// kernel goes away, its client still gets an answer: a call that was sent is in doubt.
type forwarded struct {
	mu      sync.Mutex // the request may still be sent when its answer comes
	scanner messagescan.Scanner
	count   int    // of the messages in it
	id      string // of the request, or of a call among several; "" if it has none
	method  string
	sent    []byte // what was sent, if it is not large
	large   bool
	whole   bool // all of it was sent
}

// maxAgain bounds a request that is sent again.
const maxAgain = 64 << 10

const toolsCall = "tools/call"

// mayResend returns the body of a request that may be sent to the next kernel: one
// that calls no tool only reads. Several at once are not sent again.
func (f *forwarded) mayResend() ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent, f.whole && !f.large && f.count == 1 && f.method != "" && f.method != toolsCall
}

// sender sends a request, and once more if its kernel was just ending.
type sender struct {
	http.RoundTripper
	of *forwarded
}

// RoundTrip sends a request.
func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil || r.Context().Err() != nil {
		return resp, err
	}
	body, may := s.of.mayResend()
	if !may {
		return resp, err
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return s.RoundTripper.RoundTrip(again)
}

func (f *forwarded) read(p []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// The scanner reads lines; a body is one, however it is written.
	f.scanner.Write(bytes.ReplaceAll(p, []byte("\n"), []byte(" ")))
	f.whole = f.whole || err == io.EOF
	if f.large = f.large || len(f.sent)+len(p) > maxAgain; f.large {
		f.sent = nil
		return
	}
	f.sent = append(f.sent, p...)
}

// asked returns the id of the request, and whether it is a call of a tool. The id is
// null if none can be told.
func (f *forwarded) asked() (id string, isCall bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !json.Valid([]byte(f.id)) {
		return "null", false
	}
	return f.id, f.method == toolsCall
}

func newForwarded() *forwarded {
	f := &forwarded{}
	f.scanner.Message = func(m *messagescan.Message) {
		f.count++
		var method string // a name may be written in many ways
		if !m.HasMethod || m.ID.String() == "" || json.Unmarshal([]byte(m.Method.String()), &method) != nil {
			return
		}
		if f.method != toolsCall {
			f.id, f.method = m.ID.String(), method
		}
	}
	return f
}

// requestReader notes what is asked while it is sent.
type requestReader struct {
	io.ReadCloser
	of *forwarded
}

func (r requestReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.of.read(p[:n], err)
	return n, err
}

// inDoubt is the answer to a call that was sent to a kernel which went away.
func inDoubt(id string) []byte {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "result": map[string]any{
		"isError": true, "_meta": map[string]any{"callgate/kind": tool.InDoubt},
		"content": []any{map[string]any{"type": "text", "text": "in_doubt: the kernel ended during this call, which may or " +
			"may not have happened. Look at what it was to change before you repeat it; " +
			"callgate log doubts tells what is known."}},
	}})
	return data
}

// failed answers a request whose kernel gave no answer.
func (f *forwarded) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits for it
	}
	var dial *net.OpError
	notSent := errors.As(err, &dial) && dial.Op == "dial"
	var refused *tool.Error // dialling says so
	notSent = notSent || errors.As(err, &refused)
	id, isCall := f.asked()
	if isCall && !notSent {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(inDoubt(id))
		return
	}
	message := "unavailable: the kernel cannot be reached: " + err.Error()
	if id == "null" {
		http.Error(w, message, http.StatusBadGateway)
		return
	}
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "error": map[string]any{
		"code": -32603, "message": message, "data": map[string]any{"kind": tool.Unavailable},
	}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = w.Write(data)
}

// watch has a stream of events end with an answer, also if the kernel goes away.
func (f *forwarded) watch(resp *http.Response) error {
	if id, isCall := f.asked(); isCall && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		e := &eventReader{ReadCloser: resp.Body, id: id}
		e.scanner.Message = func(m *messagescan.Message) {
			e.answered = e.answered || !m.HasMethod && m.ID.String() == id
		}
		resp.Body = e
	}
	return nil
}

// eventReader reads the events of an answer.
type eventReader struct {
	io.ReadCloser
	id       string
	scanner  messagescan.Scanner
	answered bool   // the kernel has answered
	rest     []byte // what is said in the kernel's place
	broken   bool
}

func (e *eventReader) Read(p []byte) (int, error) {
	if e.broken {
		n := copy(p, e.rest)
		if e.rest = e.rest[n:]; n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n, err := e.ReadCloser.Read(p)
	e.scanner.Write(p[:n])
	if err != nil && err != io.EOF && !e.answered {
		e.broken, err = true, nil
		e.rest = append(append([]byte("\n\nevent: message\ndata: "), inDoubt(e.id)...), "\n\n"...)
	}
	return n, err
}
