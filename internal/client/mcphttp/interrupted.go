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
	sent    []byte // what was read of it, if it is not large
	large   bool
	whole   bool // all of it was read
	begun   bool // a kernel may have got some of it
}

// maxAgain bounds a request that is sent again.
const maxAgain = 64 << 10

const toolsCall = "tools/call"

// readRest reads what nobody else reads of a request, up to the bound that the server has
// for it: left to the server, which does so after the answer, a connection with full duplex
// breaks at its next request. A client that fails to send it reads no answer either.
func readRest(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 256<<10) }

// mayResend returns the body of a request that may be sent to the next kernel: this one
// got nothing of it, or it calls no tool and only reads. Several at once are not sent again.
func (f *forwarded) mayResend(begun bool) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = f.begun || begun
	onlyReads := f.count == 1 && f.method != "" && f.method != toolsCall
	return f.sent, f.whole && !f.large && (!begun || onlyReads)
}

// sender sends a request, and again if its kernel was just ending: a process that is
// killed closes its sockets one after another, and may be dialled until the last.
type sender struct {
	http.RoundTripper
	of *forwarded
}

// RoundTrip sends a request.
func (s sender) RoundTrip(r *http.Request) (*http.Response, error) {
	tries := 5
	var body io.Reader = r.Body
	for n := 1; ; n++ {
		a := &attempt{}
		once := a.of(r)
		if r.Body != nil {
			once.Body = io.NopCloser(body) // it is not closed with what is sent
		}
		resp, err := s.RoundTripper.RoundTrip(once)
		if err == nil || r.Context().Err() != nil || r.Body == nil {
			return resp, err
		}
		if errors.Is(err, errEnded) && tries < maxKept {
			tries++ // all that are kept may have ended with their kernel
		}
		readRest(r.Body)
		again, may := s.of.mayResend(a.begun())
		if !may || n == tries || isOfDialling(err) {
			return nil, err
		}
		body = bytes.NewReader(again)
	}
}

// isOfDialling reports whether a request failed before there was a connection.
func isOfDialling(err error) bool {
	var dial *net.OpError
	var refused *tool.Error // dialling says so
	return errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, &refused)
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

// asked returns the id of the request, whether it is a call of a tool, and whether a
// kernel may have got it. The id is null if none can be told.
func (f *forwarded) asked() (id string, isCall, begun bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !json.Valid([]byte(f.id)) {
		return "null", false, f.begun
	}
	return f.id, f.method == toolsCall, f.begun
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

// requestReader notes what is asked while it is sent. It is not closed with what is
// sent: the server does that.
type requestReader struct {
	io.Reader
	of *forwarded
}

func (requestReader) Close() error { return nil }

func (r requestReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
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
	id, isCall, begun := f.asked()
	if isCall && begun {
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
	if id, isCall, _ := f.asked(); isCall && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
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
