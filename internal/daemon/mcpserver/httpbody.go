package mcpserver

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"callgate/internal/protocol/messagescan"
	"callgate/tool"
)

// maxScanned bounds what is read of a body that is too large, to find the id of its
// request.
const maxScanned = 4 * maxBody

// maxSmall is the size up to which a body is read at once.
const maxSmall = 64 << 10

// readSmall reads the body of a request whose size is told, and is small; of another it returns nil. The body can be
// read again.
func readSmall(r *http.Request) ([]byte, error) {
	if r.ContentLength <= 0 || r.ContentLength > maxSmall {
		return nil, nil
	}
	data := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, data); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return data, nil
}

// requestBody is the body of a POST.
type requestBody struct {
	data      []byte
	size      int
	tooLong   bool
	messages  int
	isRequest bool // of the last message, as the rest
	hasID     bool
	id        string // as it is written; "" if it is no text and no number
	begin     int
	end       int
}

// readBody reads the body of a request, which can be read again.
func readBody(r *http.Request) (*requestBody, error) {
	b := &requestBody{}
	scanner := messagescan.Scanner{Message: func(m *messagescan.Message) {
		b.messages++
		b.isRequest, b.hasID, b.id = m.HasMethod, m.HasID, m.ID.String()
		b.begin, b.end = m.ID.Span()
	}}
	var data bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength <= maxBody {
		data.Grow(int(r.ContentLength) + bytes.MinRead) // else it would be copied while it grows
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buf)
		// The scanner reads lines; a body is one, however it is written.
		scanner.Write(bytes.ReplaceAll(buf[:n], []byte("\n"), []byte(" ")))
		if b.size += n; b.size <= maxBody {
			data.Write(buf[:n])
		} else {
			b.tooLong, data = true, bytes.Buffer{}
		}
		if err == io.EOF || b.size > maxScanned {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(b.id) == 0 || !json.Valid([]byte(b.id)) || strings.ContainsAny(b.id[:1], "tfn") {
		b.id = ""
	}
	b.data = data.Bytes()
	r.Body = io.NopCloser(bytes.NewReader(b.data))
	return b, nil
}

// idKey is equal for equal ids.
func (b *requestBody) idKey() string {
	var text string
	if json.Unmarshal([]byte(b.id), &text) == nil {
		return `"` + text
	}
	return b.id
}

// refuseRequest answers a request that is not used.
func refuseRequest(w http.ResponseWriter, status int, id, message string) {
	if id == "" {
		id = noID
	}
	answer, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": json.RawMessage(id),
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": message},
	})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// requestIDs keeps the ids of requests over HTTP: the SDK reads a number as a 64-bit
// integer, and lets a second request replace one that has its id.
type requestIDs struct {
	mark string // begins the text that stands for a number which is no such integer

	mu   sync.Mutex
	open map[string]bool // by connection and id
}

func newRequestIDs() *requestIDs {
	return &requestIDs{mark: "callgate-id-" + rand.Text() + "-", open: map[string]bool{}}
}

// enter checks the id of a request of a connection. It reports false, and has
// answered, if the request is refused. The caller calls leave when the request has its
// answer.
func (ids *requestIDs) enter(
	w http.ResponseWriter, r *http.Request, b *requestBody, connection string,
) (out http.ResponseWriter, leave func(), ok bool) {
	leave = func() {}
	if b.messages != 1 || !b.isRequest || !b.hasID {
		return w, leave, true
	}
	if b.id == "" {
		refuseRequest(w, http.StatusBadRequest, noID, "the id of a request is a text or a number")
		return nil, nil, false
	}
	if connection != "" {
		if leave, ok = ids.take(connection, b.idKey()); !ok {
			refuseRequest(w, http.StatusBadRequest, b.id, fmt.Sprintf("the id %s is in use by a request that has no "+
				"answer yet; that one goes on, and this one was not begun", tool.Truncate(b.id)))
			return nil, nil, false
		}
	}
	if n, err := strconv.ParseInt(b.id, 10, 64); b.id[0] == '"' || err == nil && strconv.FormatInt(n, 10) == b.id &&
		int64(float64(n)) == n && n < 1<<53 && n > -1<<53 {
		return w, leave, true
	}
	text := strconv.Quote(ids.mark + b.id)
	data := append(append(append([]byte(nil), b.data[:b.begin]...), text...), b.data[b.end:]...)
	b.data = data
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return &unmarkWriter{ResponseWriter: w, mark: []byte(`"` + ids.mark)}, leave, true
}

// take notes that a request of a connection has an id until it leaves, and reports whether none had it.
func (ids *requestIDs) take(connection, id string) (leave func(), ok bool) {
	key := connection + " " + id
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if ids.open[key] {
		return nil, false
	}
	ids.open[key] = true
	return func() {
		ids.mu.Lock()
		defer ids.mu.Unlock()
		delete(ids.open, key)
	}, true
}

// unmarkWriter writes marked ids as the client wrote them. The SDK writes an answer
// with its id at once.
type unmarkWriter struct {
	http.ResponseWriter
	mark []byte
}

// Unwrap lets an http.ResponseController through.
func (u *unmarkWriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Flush sends what was written: the SDK looks for it.
func (u *unmarkWriter) Flush() { _ = http.NewResponseController(u.ResponseWriter).Flush() }

func (u *unmarkWriter) Write(p []byte) (int, error) {
	before, rest, found := bytes.Cut(p, u.mark)
	id, after, ends := bytes.Cut(rest, []byte(`"`))
	if !found || !ends {
		return u.ResponseWriter.Write(p)
	}
	if _, err := u.ResponseWriter.Write(bytes.Join([][]byte{before, id, after}, nil)); err != nil {
		return 0, err
	}
	return len(p), nil
}
