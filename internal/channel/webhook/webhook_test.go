package webhook_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/webhook"
	"callgate/internal/netguard"
	"callgate/tool"
)

func guard(t *testing.T, private ...string) *netguard.Guard {
	t.Helper()
	g, err := netguard.New(netguard.Rules{Private: private})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// serve starts a receiver on this machine.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var message = channel.Message{
	ID: "d1", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Channel: "ops", App: "shop", Agent: "main",
	Title: "done", Text: "it is <done> & \"well\"",
}

func TestSendIsSigned(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 2)
	bodies := make(chan []byte, 2)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r
		bodies <- body
		w.WriteHeader(http.StatusNoContent)
	})
	s := webhook.New(webhook.Options{
		URL: url + "/in", Secret: secret, Guard: guard(t, "127.0.0.1"),
		Headers: map[string]string{"X-Team": "ops", "webhook-id": "another"},
	})
	for attempt := range 2 {
		if err := s.Send(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		r, body := <-got, <-bodies
		if r.Method != http.MethodPost || r.URL.Path != "/in" || r.Header.Get(webhook.HeaderID) != "d1" || r.Header.Get("X-Team") != "ops" {
			t.Errorf("attempt %d: %s %s %v", attempt, r.Method, r.URL, r.Header)
		}
		if err := webhook.Verify(secret, r.Header, body, time.Now()); err != nil {
			t.Error(err)
		}
		var in struct {
			Type, Text string
			Timestamp  time.Time
			Data       map[string]string
		}
		if err := json.Unmarshal(body, &in); err != nil || in.Type != "message" || in.Text != message.Text ||
			!in.Timestamp.Equal(message.At) || in.Data["id"] != "d1" || in.Data["app"] != "shop" || in.Data["title"] != "done" {
			t.Errorf("%s %v", body, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for status, c := range map[int]struct {
		retryAfter string
		again      bool
		wait       time.Duration
	}{
		200: {}, 202: {},
		301: {}, 307: {}, 400: {}, 401: {}, 404: {}, 410: {},
		408: {again: true}, 425: {again: true},
		429: {retryAfter: "7", again: true, wait: 7 * time.Second},
		500: {again: true},
		503: {retryAfter: "99999999", again: true, wait: 24 * time.Hour},
		502: {retryAfter: "soon", again: true},
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.retryAfter)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "said\nso")
		})
		err := webhook.New(webhook.Options{URL: url, Guard: guard(t, "127.0.0.1")}).Send(t.Context(), message)
		wait, again := channel.RetryIn(err)
		if (err == nil) != (status < 300) || again != c.again || wait != c.wait {
			t.Errorf("%d: %v, again %v in %v", status, err, again, wait)
		}
		if status >= 400 && !strings.Contains(err.Error(), "said so") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// The guard is in the way of every address that is not public, also behind a redirect.
func TestGuarded(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 10)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path })
	port := url[strings.LastIndexByte(url, ':'):]
	for _, to := range []string{
		url, "http://localhost" + port, "http://[::1]" + port, "http://2130706433" + port, "http://169.254.169.254/",
		"http://127.0.0.1.:80", "file:///etc/passwd", "http://user@127.0.0.1" + port,
	} {
		err := webhook.New(webhook.Options{URL: to, Guard: guard(t)}).Send(t.Context(), message)
		if _, again := channel.RetryIn(err); err == nil || again {
			t.Errorf("%s: %v", to, err)
		}
	}
	if len(reached) > 0 {
		t.Errorf("%s was reached", <-reached)
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	s := webhook.New(webhook.Options{URL: url, Guard: guard(t, "127.0.0.1"), Timeout: 50 * time.Millisecond})
	err := s.Send(t.Context(), message)
	if _, again := channel.RetryIn(err); tool.KindOf(err) != tool.Timeout || !again {
		t.Errorf("slow: %v", err)
	}
	gone := webhook.New(webhook.Options{URL: "http://127.0.0.1:1/secret-in-the-path", Guard: guard(t, "127.0.0.1")})
	err = gone.Send(t.Context(), message)
	if _, again := channel.RetryIn(err); tool.KindOf(err) != tool.Unavailable || !again || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := gone.Send(ctx, message); tool.KindOf(err) != tool.Cancelled {
		t.Errorf("stopped: %v", err)
	}
}
