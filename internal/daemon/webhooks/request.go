package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/app/triggers"
	"callgate/internal/channel"
	"callgate/internal/channel/webhook"
	kernel "callgate/internal/kernel/triggers"
	"callgate/tool"
)

const (
	// sameBody is how long two requests of one body are one event, where they have no ID.
	sameBody = 10 * time.Minute
	// signedBody is that where the body is all that is signed. A sender that delivers again sends the same body.
	signedBody = 7 * 24 * time.Hour
)

// answer is the body of an answer.
type answer struct {
	ID     string `json:"id,omitempty"`
	Status string `json:"status"` // accepted, duplicate or refused
	Error  string `json:"error,omitempty"`
}

func say(w http.ResponseWriter, status int, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a) // who went away is not told
}

// serve takes one request.
func (l *listening) serve(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	hook, ok := (*l.hooks.Load())[r.URL.Path]
	if !ok {
		say(w, http.StatusNotFound, answer{Status: "refused", Error: "there is nothing here"})
		return
	}
	event, window, err := read(w, r, hook)
	if err != nil {
		refuse(w, hook, err)
		return
	}
	l.seats.keep(r)
	// Once it is stored it counts, also if the caller does not wait for the answer.
	id, fresh, err := hook.Accept(context.WithoutCancel(r.Context()), event, window)
	if err != nil {
		log.Warn("an event could not be taken in", "app", hook.App, "trigger", hook.Trigger.Name, "error", err)
		refuse(w, hook, kept{err})
		return
	}
	a := answer{ID: id, Status: "accepted"}
	if !fresh {
		a.Status = "duplicate"
	}
	say(w, http.StatusAccepted, a)
}

// kept is the error of an event that could not be stored. What is wrong with it is the
// kernel's, and not told to callers.
type kept struct{ error }

func (k kept) Unwrap() error { return k.error }

// status is an error with the status of its answer.
type status struct {
	error
	code int
}

// refuse answers a request that was not taken.
func refuse(w http.ResponseWriter, hook kernel.Hook, err error) {
	var s status
	var k kept
	var r kernel.Refused
	a := answer{Status: "refused", Error: err.Error()}
	code := http.StatusUnauthorized
	switch {
	case errors.As(err, &r):
		code, a.Error = http.StatusUnprocessableEntity, r.Error()
	case errors.As(err, &k):
		code, a.Error = http.StatusServiceUnavailable, "the event could not be kept; send it again later"
		if tool.KindOf(err) == tool.Denied || tool.KindOf(err) == tool.NotFound {
			code, a.Error = http.StatusForbidden, "the app takes no events now"
		}
		wait, again := channel.RetryIn(err)
		if tool.KindOf(err) == tool.Limited {
			code, a.Error = http.StatusTooManyRequests, "too many events wait; send it again later"
		}
		if code != http.StatusForbidden {
			if !again || wait == 0 {
				wait = 30 * time.Second
			}
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
		}
	case errors.As(err, &s):
		code = s.code
		if code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", strings.Join(hook.Trigger.Webhook.Methods, ", "))
		}
	}
	say(w, code, a)
}

// read reads a request, and checks who sent it.
func read(w http.ResponseWriter, r *http.Request, hook kernel.Hook) (channel.Event, time.Duration, error) {
	var none channel.Event
	h := hook.Trigger.Webhook
	if !slices.Contains(h.Methods, r.Method) {
		return none, 0, status{errors.New("the method is not one of its own"), http.StatusMethodNotAllowed}
	}
	if h.Auth == triggers.AuthNone {
		if err := checkLocal(r); err != nil {
			return none, 0, status{err, http.StatusForbidden}
		}
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return none, 0, status{errors.New("send the body as it is, without " + encoding), http.StatusUnsupportedMediaType}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, hook.Trigger.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		text := "the body has more than " + strconv.FormatInt(large.Limit, 10) + " bytes"
		return none, 0, status{errors.New(text), http.StatusRequestEntityTooLarge}
	case err != nil:
		return none, 0, status{errors.New("the body broke off, or took too long"), http.StatusRequestTimeout}
	}
	if err := verify(hook, r.Header, body); err != nil {
		return none, 0, err
	}
	event := channel.Event{At: time.Now().UTC(), Type: r.Header.Get("Content-Type"), Body: body, Facts: facts(r, h.Header)}
	if kind := cmp.Or(r.Header.Get("X-GitHub-Event"), r.Header.Get("X-Gitlab-Event")); kind != "" {
		event.Title = tool.TruncateTo(kind, 200)
	}
	if h.Auth == triggers.AuthGitHub {
		event.ID = channel.HashID("signed", string(body))
		return event, signedBody, nil
	}
	if id := deliveryID(h.Auth, r.Header); id != "" {
		event.ID = id
		return event, 0, nil
	}
	event.ID = channel.HashID(r.Method, r.URL.RawQuery, string(body))
	return event, sameBody, nil
}

// deliveryID is the sender's own ID of a delivery. Of what is signed as in Standard
// Webhooks, only the ID that is signed counts.
func deliveryID(auth string, h http.Header) string {
	names := []string{webhook.HeaderID, "X-GitHub-Delivery", "Idempotency-Key"}
	if auth == triggers.AuthHMAC {
		names = names[:1]
	}
	for _, name := range names {
		if id := h.Get(name); id != "" {
			return name + ":" + id
		}
	}
	return ""
}

// verify checks that a request is of somebody who knows the secret.
func verify(hook kernel.Hook, h http.Header, body []byte) error {
	auth := hook.Trigger.Webhook.Auth
	if auth == triggers.AuthNone {
		return nil
	}
	secret, err := hook.Secret()
	if err != nil || secret == "" {
		return kept{tool.Errorf("webhooks", tool.Unavailable, "the secret of the webhook has no value: %v", err)}
	}
	switch auth {
	case triggers.AuthHMAC:
		return webhook.Verify(secret, h, body, time.Now())
	case triggers.AuthGitHub:
		return webhook.VerifyGitHub(secret, h, body)
	case triggers.AuthToken:
		return webhook.VerifyToken(secret, hook.Trigger.Webhook.Header, h)
	}
	return errors.New("nobody may call it") // no other way is known
}

// checkLocal refuses what a web page in a browser of this machine may have sent.
func checkLocal(r *http.Request) error {
	host := r.Host
	if name, _, err := net.SplitHostPort(r.Host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return errors.New("call it by the address of this machine, as in http://127.0.0.1")
	}
	if r.Header.Get("Origin") != "" || !slices.Contains([]string{"", "none"}, r.Header.Get("Sec-Fetch-Site")) {
		return errors.New("a web page may not call it")
	}
	return nil
}

// private are parts of the names of headers that may hold a secret, or say nothing.
var private = []string{"token", "secret", "signature", "auth", "key", "cookie", "forwarded", "real-ip", "session"}

// maxFacts is how many headers an event tells of.
const maxFacts = 20

// facts are what is known of a request beside its body.
func facts(r *http.Request, tokenHeader string) []channel.Fact {
	all := []channel.Fact{{Name: "method", Value: r.Method}}
	if r.URL.RawQuery != "" {
		all = append(all, channel.Fact{Name: "query", Value: r.URL.RawQuery})
	}
	var names []string
	for name := range r.Header {
		low := strings.ToLower(name)
		if strings.HasPrefix(low, "x-") && !strings.EqualFold(name, tokenHeader) &&
			!slices.ContainsFunc(private, func(part string) bool { return strings.Contains(low, part) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range append([]string{"Content-Type", "User-Agent"}, names[:min(len(names), maxFacts)]...) {
		if value := r.Header.Get(name); value != "" {
			all = append(all, channel.Fact{Name: strings.ToLower(name), Value: tool.TruncateTo(value, 500)})
		}
	}
	return all
}
