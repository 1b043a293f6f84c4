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

// failure is an error with what follows from it. Its error never wraps what a
// transport or a server said, since that might hold the key: it quotes it,
// with the key taken out.
type failure struct {
	err        *tool.Error
	retry      bool          // the same request may do better in a moment
	splitBatch bool          // fewer texts at once may do
	unhealthy  bool          // others need not try for a while
	asked      bool          // the server said when to come again
	after      time.Duration // and it was then
}

// stopped is the end of the asker's own patience. That an asker went away says
// nothing of the server.
func stopped(ctx context.Context) *failure {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{err: &tool.Error{Op: op, Kind: tool.Timeout, Message: "the time for embedding ran out", Err: err}}
	}
	return &failure{err: &tool.Error{Op: op, Kind: tool.Cancelled, Message: "embedding was cancelled", Err: err}}
}

// malformedError is an answer that is none.
func (e *Endpoint) malformedError(format string, args ...any) *failure {
	what := fmt.Sprintf(format, args...)
	err := tool.Errorf(op, tool.Failed, "the answer of %s cannot be used: %s", e.url, what)
	return &failure{err: err.WithHint("check that %s is an embedding model and that the URL is that of an OpenAI-compatible server", e.named()), unhealthy: true}
}

// unreachableError is a request that got no answer, or only a part of one.
func (e *Endpoint) unreachableError(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		f := stopped(ctx)
		f.unhealthy = f.err.Kind == tool.Timeout // it was asked, and was too slow for a search
		return f
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the address is said already
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

// refused is an answer with a status that is not 200.
func (e *Endpoint) refused(res *http.Response) *failure {
	data, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	status := strconv.Itoa(res.StatusCode) + " " + http.StatusText(res.StatusCode) + e.quoted(data)
	with := func(kind tool.Kind, hint string) *failure {
		return &failure{err: tool.Errorf(op, kind, "%s answers %s", e.url, status).WithHint("%s", hint), unhealthy: true}
	}
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.key == "" {
			return with(tool.Denied, "the server wants a key, and none is set")
		}
		return with(tool.Denied, "the server does not accept the key: check that it is whole, not expired, and for this server")
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return with(tool.NotFound, "check the URL, and that "+e.named()+" is there: pull or load it first")
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable || code == http.StatusBadGateway:
		kind, hint := tool.Unavailable, "the server is busy, or still loading the model: try again in a while"
		if code == http.StatusTooManyRequests {
			kind, hint = tool.Limited, "the server limits how much is asked of it: try again later"
		}
		f := with(kind, hint)
		f.retry = true
		f.after, f.asked = retryAfter(res.Header.Get("Retry-After"))
		return f
	case code >= 500:
		return with(tool.Unavailable, "look at the server's own log")
	case code >= 400:
		f := with(tool.Invalid, "a text may be too long for the model, or the model may not take dimensions")
		f.splitBatch = tooMany(code, e.words(data))
		f.unhealthy = false // it is well; this request was not
		return f
	}
	return with(tool.Failed, "check that the URL is that of an OpenAI-compatible server")
}

// tooMany reports whether fewer texts would have been taken. What is called
// the physical batch is one text's length, which halving does not mend.
func tooMany(code int, words string) bool {
	words = strings.ToLower(words)
	return code == http.StatusRequestEntityTooLarge || strings.Contains(words, "batch size") && !strings.Contains(words, "physical")
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

// words finds what a server says of an error, in the shapes that servers have
// for it, without the key and clipped. A JSON of another shape is not quoted.
func (e *Endpoint) words(data []byte) string {
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

// quoted is those words behind a colon, or nothing.
func (e *Endpoint) quoted(data []byte) string {
	if words := e.words(data); words != "" {
		return fmt.Sprintf(": %q", words)
	}
	return ""
}

// hidden is a text of others, fit to be quoted.
func (e *Endpoint) hidden(text string) string {
	return tool.TruncateTo(e.hide.Replace(text), 200)
}

// named is the model for people.
func (e *Endpoint) named() string {
	if e.model == "" {
		return "the model"
	}
	return fmt.Sprintf("the model %q", tool.Truncate(e.model))
}
