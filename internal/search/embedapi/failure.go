package embedapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/tool"
)

// failure is an error with its consequences. It never wraps an error of the
// transport or the server, which might contain the key: it quotes the text,
// without the key.
type failure struct {
	err        *tool.Error
	retry      bool          // the same request may succeed in a moment
	splitBatch bool          // a smaller batch may succeed
	unhealthy  bool          // the endpoint counts as down for a while
	asked      bool          // the server said when to try again:
	after      time.Duration // after this time
}

// stopped is the failure of a call whose context ended. It says nothing about the
// server.
func stopped(ctx context.Context) *failure {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{err: &tool.Error{
			Op: op, Kind: tool.Timeout, Message: "the time for embedding ran out", Err: err,
		}}
	}
	return &failure{err: &tool.Error{Op: op, Kind: tool.Cancelled, Message: "embedding was cancelled", Err: err}}
}

// malformedError is the failure of an answer that cannot be used.
func (e *Endpoint) malformedError(format string, args ...any) *failure {
	what := fmt.Sprintf(format, args...)
	err := tool.Errorf(op, tool.Failed, "the answer of %s cannot be used: %s", e.url, what)
	err = err.WithHint("check that %s is an embedding model and that the URL is that of an OpenAI-compatible server",
		e.named())
	return &failure{err: err, unhealthy: true}
}

// unreachableError is the failure of a request without a complete answer.
func (e *Endpoint) unreachableError(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		f := stopped(ctx)
		f.unhealthy = f.err.Kind == tool.Timeout // it was too slow for a search
		return f
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which the message has already
	}
	f := &failure{unhealthy: true}
	said := e.hidden(err.Error())
	if moved, ok := errors.AsType[*redirected](err); ok {
		f.err = tool.Errorf(op, tool.Failed, "%s was not followed: %s, %q", e.url, moved.why, e.hidden(moved.to))
		f.err.Hint = "if that is where the model is, make it the URL"
		return f
	}
	timed, isNet := errors.AsType[net.Error](err)
	dial, isOp := errors.AsType[*net.OpError](err)
	_, noName := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || isNet && timed.Timeout():
		f.err = tool.Errorf(op, tool.Timeout, "%s did not answer in time", e.url)
		f.err.Hint = "give it more time, or a smaller batch"
	case noName:
		f.err = tool.Errorf(op, tool.Unavailable, "the host of %s is not known: %s", e.url, said)
		f.err.Hint = "check the URL"
	case isOp && dial.Op == "dial":
		f.retry = true
		f.err = tool.Errorf(op, tool.Unavailable, "%s cannot be reached: %s", e.url, said)
		f.err.Hint = "start the server there, or correct the URL"
	default:
		f.err = tool.Errorf(op, tool.Unavailable, "%s broke off: %s", e.url, said)
		f.err.Hint = "look at the server's own log"
	}
	return f
}

// refused is the failure of an answer with a status other than 200.
func (e *Endpoint) refused(res *http.Response) *failure {
	data, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	status := strconv.Itoa(res.StatusCode) + " " + http.StatusText(res.StatusCode) + e.quoted(data)
	with := func(kind tool.Kind, hint string) *failure {
		err := tool.Errorf(op, kind, "%s answers %s", e.url, status).WithHint("%s", hint)
		return &failure{err: err, unhealthy: true}
	}
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.key == "" {
			return with(tool.Denied, "the server wants a key, and none is set")
		}
		return with(tool.Denied,
			"the server does not accept the key: check that it is complete, not expired, and for this server")
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return with(tool.NotFound, "check the URL, and that "+e.named()+" is there: pull or load it first")
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable || code == http.StatusBadGateway:
		kind, hint := tool.Unavailable, "the server is busy, or still loading the model: try again in a while"
		if code == http.StatusTooManyRequests {
			kind, hint = tool.Limited, "the server limits the rate of requests: try again later"
		}
		f := with(kind, hint)
		f.retry = true
		f.after, f.asked = retryAfter(res.Header.Get("Retry-After"))
		return f
	case code >= 500:
		return with(tool.Unavailable, "look at the server's own log")
	case code >= 400:
		f := with(tool.Invalid, "a text may be too long for the model, or the model may not take dimensions")
		f.splitBatch = tooMany(code, e.message(data))
		f.unhealthy = false // the server works; this request was wrong
		return f
	}
	return with(tool.Failed, "check that the URL is that of an OpenAI-compatible server")
}

// tooMany reports whether a smaller batch would have been accepted. An error
// about the "physical batch size" is about the length of one text.
func tooMany(code int, message string) bool {
	message = strings.ToLower(message)
	return code == http.StatusRequestEntityTooLarge ||
		strings.Contains(message, "batch size") && !strings.Contains(message, "physical")
}

// retryAfter reads seconds or a date.
func retryAfter(text string) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 24*60*60)) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// message is the error message in an answer, in any of the forms that servers
// have for it, without the key and shortened. JSON of another form is not quoted.
func (e *Endpoint) message(data []byte) string {
	var says struct {
		Error, Message, Detail json.RawMessage
	}
	text := ""
	if json.Unmarshal(data, &says) == nil {
		for _, raw := range []json.RawMessage{says.Error, says.Message, says.Detail} {
			var inner struct{ Message string }
			if text == "" && json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &inner) == nil {
				text = inner.Message
			}
		}
	} else if !json.Valid(data) && utf8.Valid(data) {
		text = string(data)
	}
	return e.hidden(strings.Join(strings.Fields(text), " "))
}

// quoted is the error message after a colon, or empty.
func (e *Endpoint) quoted(data []byte) string {
	if message := e.message(data); message != "" {
		return fmt.Sprintf(": %q", message)
	}
	return ""
}

// hidden is text of others without the key, shortened.
func (e *Endpoint) hidden(text string) string {
	return tool.TruncateTo(e.hide.Replace(text), 200)
}

// named is the model in an error text.
func (e *Endpoint) named() string {
	if e.model == "" {
		return "the model"
	}
	return fmt.Sprintf("the model %q", tool.Truncate(e.model))
}
