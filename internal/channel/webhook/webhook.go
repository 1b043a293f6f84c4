// Package webhook sends messages to a URL, and reads the signatures of requests that
// come in.
//
// Law: a message is one POST of JSON. Its headers are those of Standard Webhooks: the
// same webhook-id on every attempt, the time of the attempt, and with a secret the
// signature of both and the body. No redirect is followed: who moves a receiver says so
// in the app file, where a human sees it. A status of 2xx is a delivery; 408, 425, 429
// and 5xx are worth another attempt, after what Retry-After says; any other answer is
// final.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"callgate/internal/channel"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Options is where a channel's messages go.
type Options struct {
	URL     string
	Secret  string            // signs; "": nothing is signed
	Headers map[string]string // sent with every message
	Timeout time.Duration     // of one attempt; 0: 15 seconds
	Guard   *netguard.Guard
}

// Sender sends messages to one URL.
type Sender struct {
	opt    Options
	client *http.Client
}

var _ channel.Sender = (*Sender)(nil)

// New makes a sender.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	return &Sender{opt: o, client: o.Guard.Client(0)}
}

// body is what is sent. The text stands at the top, where receivers of chat programs
// look for it.
type body struct {
	Type string      `json:"type"`
	At   time.Time   `json:"timestamp"`
	Text string      `json:"text"`
	Data messageData `json:"data"`
}

type messageData struct {
	ID      string `json:"id"`
	Channel string `json:"channel,omitempty"`
	App     string `json:"app,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Title   string `json:"title,omitempty"`
}

const op = "webhook.Send"

// Send makes one attempt.
func (s *Sender) Send(ctx context.Context, m channel.Message) error {
	data, err := json.Marshal(body{
		Type: "message", At: m.At.UTC(), Text: m.Text,
		Data: messageData{ID: m.ID, Channel: m.Channel, App: m.App, Agent: m.Agent, Title: m.Title},
	})
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the message cannot be written as JSON: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opt.URL, bytes.NewReader(data))
	if err != nil {
		return tool.Errorf(op, tool.Invalid, "the URL of the channel %s cannot be used", m.Channel)
	}
	now := time.Now()
	for name, value := range maps.All(s.opt.Headers) {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "callgate")
	r.Header.Set(HeaderID, m.ID)
	r.Header.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	if s.opt.Secret != "" {
		r.Header.Set(HeaderSignature, Sign(s.opt.Secret, m.ID, now, data))
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return failed(ctx, m.Channel, err)
	}
	defer resp.Body.Close()
	defer s.client.CloseIdleConnections()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // the status decides
	return answered(resp, strings.Join(strings.Fields(strings.ToValidUTF8(string(said), "�")), " "), now)
}

// failed is the error of a request that had no answer.
func failed(ctx context.Context, name string, err error) error {
	var e *tool.Error
	switch {
	case errors.As(err, &e) && e.Kind != tool.NotFound: // the guard's; a name may have an address again later
		return e
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tool.Errorf(op, tool.Timeout, "the receiver of the channel %s did not answer in time", name)
	case ctx.Err() != nil:
		return tool.Errorf(op, tool.Cancelled, "the delivery was stopped")
	}
	// The error of net/http names the URL, which may hold a secret.
	return tool.Errorf(op, tool.Unavailable, "the receiver of the channel %s cannot be reached: %s", name, cause(err))
}

// cause is what went wrong, without the URL.
func cause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}

// answered reads the answer of a receiver.
func answered(resp *http.Response, said string, now time.Time) error {
	code := resp.StatusCode
	text := "the receiver answered " + resp.Status
	if said != "" {
		text += ": " + tool.Truncate(said)
	}
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
		err := tool.Errorf(op, tool.Unavailable, "%s", text)
		if wait, ok := channel.RetryAfter(resp.Header.Get("Retry-After"), now); ok {
			return channel.Later(err, wait)
		}
		return err
	case code >= 300 && code < 400:
		return tool.Errorf(op, tool.Failed, "the receiver has moved: it answered %s", resp.Status).
			WithHint("write its new address in the app file; redirects are not followed")
	}
	return tool.Errorf(op, tool.Failed, "%s", text)
}
