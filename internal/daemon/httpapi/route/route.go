// Package route reads requests of the kernel's protocol, answers them, and says who sends
// them.
//
// The law: who sends a request is what the operating system says of its connection, never
// what the request says.
package route

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"callgate/internal/protocol"
	"callgate/tool"
)

// maxBody bounds a request: the largest arguments a call may have.
const maxBody = 64 << 20

// Func answers the requests of one route. An error becomes the answer.
type Func func(http.ResponseWriter, *http.Request) error

// Read parses a request's JSON body.
//
// The body is decoded while it is read: large arguments would otherwise be there once more.
func Read(r *http.Request, into any) error {
	body := &noted{Reader: http.MaxBytesReader(nil, r.Body, maxBody)}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(body.err, &large):
		return tool.Errorf("httpapi", tool.Invalid, "the request is larger than %d MiB", maxBody>>20)
	case body.err != nil:
		return &tool.Error{Op: "httpapi", Kind: tool.Cancelled, Message: "the request broke off", Err: body.err}
	default:
		return &tool.Error{Op: "httpapi", Kind: tool.Invalid, Message: "the request's body cannot be read", Err: err}
	}
}

// noted is a reader that keeps the error with which it failed.
type noted struct {
	io.Reader
	err error
}

func (n *noted) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return k, err
}

// Answer writes a JSON body.
func Answer(w http.ResponseWriter, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the answer cannot be written as JSON", Err: err}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client may have left
	return nil
}

// Fail writes an error with the status that fits its kind.
func Fail(w http.ResponseWriter, err error) { FailWith(w, protocol.HTTPStatus(tool.KindOf(err)), err) }

// FailWith writes an error with a status: the problem details of RFC 9457, which have the members of a
// tool.Error beside their own.
func FailWith(w http.ResponseWriter, status int, err error) {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: err.Error()}
	}
	problem := map[string]any{}
	data, _ := json.Marshal(e) // an error's message holds the one below it, so it is written first
	_ = json.Unmarshal(data, &problem)
	problem["type"], problem["title"] = "urn:callgate:"+string(e.Kind), string(e.Kind)
	problem["status"], problem["detail"] = status, problem["message"]
	data, _ = json.Marshal(problem)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// Number reads a parameter that is a whole number; without it, into stays as it is.
func Number(r *http.Request, name string, into *uint64) error {
	text := r.FormValue(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return tool.Errorf("httpapi", tool.Invalid, "%s must be a whole number, not %q", name, tool.Truncate(text))
	}
	*into = n
	return nil
}
