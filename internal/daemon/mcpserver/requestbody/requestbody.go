// Package requestbody reads the bodies of requests over HTTP, and refuses what is no message.
//
// Law: a request that is not used is answered under its id, as its client wrote that; and no two requests of a
// connection that have no answer yet have one id.
package requestbody

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

// Max bounds a request, as on a stream.
const Max = 64 << 20

// maxScanned bounds what is read of a body that is too large, to find the id of its
// request.
const maxScanned = 4 * Max

// maxSmall is the size up to which a body is read at once.
const maxSmall = 64 << 10

// Small reads the body of a request whose size is told, and is small; of another it returns nil. The body can be
// read again.
func Small(r *http.Request) ([]byte, error) {
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

// Body is the body of a POST.
type Body struct {
	Data      []byte
	Size      int
	TooLong   bool
	messages  int
	isRequest bool // of the last message, as the rest
	hasID     bool
	ID        string // as it is written; "" if it is no text and no number
	begin     int
	end       int
}

// Read reads the body of a request, which can be read again.
func Read(r *http.Request) (*Body, error) {
	b := &Body{}
	scanner := messagescan.Scanner{Message: func(m *messagescan.Message) {
		b.messages++
		b.isRequest, b.hasID, b.ID = m.HasMethod, m.HasID, m.ID.String()
		b.begin, b.end = m.ID.Span()
	}}
	var data bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength <= Max {
		data.Grow(int(r.ContentLength) + bytes.MinRead) // else it would be copied while it grows
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Body.Read(buf)
		// The scanner reads lines; a body is one, however it is written.
		scanner.Write(bytes.ReplaceAll(buf[:n], []byte("\n"), []byte(" ")))
		if b.Size += n; b.Size <= Max {
			data.Write(buf[:n])
		} else {
			b.TooLong, data = true, bytes.Buffer{}
		}
		if err == io.EOF || b.Size > maxScanned {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(b.ID) == 0 || !json.Valid([]byte(b.ID)) || strings.ContainsAny(b.ID[:1], "tfn") {
		b.ID = ""
	}
	b.Data = data.Bytes()
	r.Body = io.NopCloser(bytes.NewReader(b.Data))
	return b, nil
}

// KeyOf is equal for equal ids, decoded ones, as a body has it.
func KeyOf(id any) string {
	if n, ok := id.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	text, _ := id.(string)
	return `"` + text
}

// idKey is equal for equal ids.
func (b *Body) idKey() string {
	var text string
	if json.Unmarshal([]byte(b.ID), &text) == nil {
		return `"` + text
	}
	return b.ID
}

// Refuse answers a request that is not used.
func Refuse(w http.ResponseWriter, status int, id, message string) {
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

// IDs keeps the ids of requests over HTTP: the SDK reads a number as a 64-bit
// integer, and lets a second request replace one that has its id.
type IDs struct {
	mark string // begins the text that stands for a number which is no such integer

	mu   sync.Mutex
	open map[string]bool // by connection and id
}

func NewIDs() *IDs {
	return &IDs{mark: "callgate-id-" + rand.Text() + "-", open: map[string]bool{}}
}

// Enter checks the id of a request of a connection. It reports false, and has
// answered, if the request is refused. The caller calls leave when the request has its
// answer.
func (ids *IDs) Enter(
	w http.ResponseWriter, r *http.Request, b *Body, connection string,
) (out http.ResponseWriter, leave func(), ok bool) {
	leave = func() {}
	if b.messages != 1 || !b.isRequest || !b.hasID {
		return w, leave, true
	}
	if b.ID == "" {
		Refuse(w, http.StatusBadRequest, noID, "the id of a request is a text or a number")
		return nil, nil, false
	}
	if connection != "" {
		if leave, ok = ids.Take(connection, b.idKey()); !ok {
			Refuse(w, http.StatusBadRequest, b.ID, fmt.Sprintf("the id %s is in use by a request that has no "+
				"answer yet; that one goes on, and this one was not begun", tool.Truncate(b.ID)))
			return nil, nil, false
		}
	}
	if n, err := strconv.ParseInt(b.ID, 10, 64); b.ID[0] == '"' || err == nil && strconv.FormatInt(n, 10) == b.ID &&
		int64(float64(n)) == n && n < 1<<53 && n > -1<<53 {
		return w, leave, true
	}
	text := strconv.Quote(ids.mark + b.ID)
	data := append(append(append([]byte(nil), b.Data[:b.begin]...), text...), b.Data[b.end:]...)
	b.Data = data
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return &unmarkWriter{ResponseWriter: w, mark: []byte(`"` + ids.mark)}, leave, true
}

// Take notes that a request of a connection has an id until it leaves, and reports whether none had it.
func (ids *IDs) Take(connection, id string) (leave func(), ok bool) {
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
