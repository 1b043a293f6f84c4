package webhooks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/contract"
	"callgate/internal/app/triggers"
	"callgate/internal/channel"
	"callgate/internal/channel/webhook"
	"callgate/internal/daemon/webhooks"
	kernel "callgate/internal/kernel/triggers"
	"callgate/tool"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// inbox keeps what it is given, each ID once.
type inbox struct {
	mu      sync.Mutex
	events  map[string]channel.Event
	windows []time.Duration
	err     error
}

func (i *inbox) accept(_ context.Context, e channel.Event, window time.Duration) (string, bool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return "", false, i.err
	}
	if i.events == nil {
		i.events = map[string]channel.Event{}
	}
	_, there := i.events[e.ID]
	i.events[e.ID] = e
	i.windows = append(i.windows, window)
	return "event-" + channel.HashID(e.ID), !there, nil
}

func (i *inbox) hook(name, listen, auth string) kernel.Hook {
	return kernel.Hook{
		Key: name, App: "shop", Accept: i.accept,
		Secret: func() (string, error) { return secret, nil },
		Trigger: app.Trigger{Name: name, Type: triggers.Webhook, MaxBody: 100, Webhook: triggers.Hook{
			Path: "/" + name, Methods: []string{"POST"}, Auth: auth, Header: "Authorization", Listen: listen,
		}},
	}
}

const anywhere = "127.0.0.1:0"

// serve listens for one webhook, and returns its URL.
func serve(t *testing.T, o webhooks.Options, h kernel.Hook) string {
	t.Helper()
	s := webhooks.New(o)
	t.Cleanup(s.Close)
	heard := s.Listen([]kernel.Hook{h})[h.Key]
	if heard.Err != nil {
		t.Fatal(heard.Err)
	}
	return "http://" + heard.Address + h.Trigger.Webhook.Path
}

type reply struct {
	code          int
	id, status    string
	retry, reason string
}

func send(t *testing.T, method, url, body string, header map[string]string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var in struct{ ID, Status, Error string }
	data, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(data, &in); err != nil {
		t.Errorf("%s: %s", resp.Status, data)
	}
	return reply{resp.StatusCode, in.ID, in.Status, resp.Header.Get("Retry-After"), in.Error}
}

// signed are the headers of a request as in Standard Webhooks.
func signed(key, id, body string, at time.Time) map[string]string {
	return map[string]string{
		webhook.HeaderID: id, webhook.HeaderTimestamp: strconv.FormatInt(at.Unix(), 10),
		webhook.HeaderSignature: webhook.Sign(key, id, at, []byte(body)),
	}
}

func TestSignedRequests(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("orders", anywhere, triggers.AuthHMAC))
	now := time.Now()
	first := send(t, "POST", url, `{"a":1}`, signed(secret, "m1", `{"a":1}`, now))
	if first.code != 202 || first.status != "accepted" || first.id == "" {
		t.Fatalf("%+v", first)
	}
	if again := send(t, "POST", url, `{"a":1}`, signed(secret, "m1", `{"a":1}`, now)); again.code != 202 || again.status != "duplicate" || again.id != first.id {
		t.Errorf("a replay: %+v", again)
	}
	for name, header := range map[string]map[string]string{
		"no signature":     nil,
		"another secret":   signed("guess", "m2", `{"a":1}`, now),
		"another body":     signed(secret, "m2", `{"a":2}`, now),
		"old":              signed(secret, "m2", `{"a":1}`, now.Add(-time.Hour)),
		"another ID added": {"Idempotency-Key": "x"},
	} {
		if got := send(t, "POST", url, `{"a":1}`, header); got.code != 401 || got.status != "refused" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(in.events) != 1 {
		t.Errorf("%d events", len(in.events))
	}
}

func TestOtherWaysToBeKnown(t *testing.T) {
	t.Parallel()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("x"))
	github := map[string]string{
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-GitHub-Delivery": "d1", "X-GitHub-Event": "push",
	}
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("hub", anywhere, triggers.AuthGitHub))
	if got := send(t, "POST", url, "x", github); got.code != 202 {
		t.Errorf("github: %+v", got)
	}
	e := in.events[channel.HashID("signed", "x")]
	if e.Title != "push" || string(e.Body) != "x" {
		t.Errorf("%+v", e)
	}
	for _, f := range e.Facts {
		if strings.Contains(f.Name, "signature") {
			t.Errorf("the event tells %+v", f)
		}
	}
	github["X-Hub-Signature-256"] = "sha256=00"
	if got := send(t, "POST", url, "x", github); got.code != 401 {
		t.Errorf("a wrong signature: %+v", got)
	}
	url = serve(t, webhooks.Options{}, in.hook("token", anywhere, triggers.AuthToken))
	for value, want := range map[string]int{"Bearer " + secret: 202, "Bearer x": 401, "": 401} {
		if got := send(t, "POST", url, "y", map[string]string{"Authorization": value}); got.code != want {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

// The attack: one request with its signature is sent again under other IDs, which are not signed. The signed body tells
// events apart, for days.
func TestReplaysUnderOtherIDs(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("hub", anywhere, triggers.AuthGitHub))
	github := func(body, id string, more ...string) map[string]string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		h := map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "X-GitHub-Delivery": id}
		for i := 0; i+1 < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	first := send(t, "POST", url, "deploy", github("deploy", "d1"))
	if first.status != "accepted" {
		t.Fatalf("%+v", first)
	}
	for name, again := range map[string]reply{
		"another delivery":      send(t, "POST", url, "deploy", github("deploy", "d2")),
		"an ID of another kind": send(t, "POST", url, "deploy", github("deploy", "", "webhook-id", "m1", "Idempotency-Key", "k")),
		"another query":         send(t, "POST", url+"?x=1", "deploy", github("deploy", "d3")),
		"another event":         send(t, "POST", url, "deploy", github("deploy", "d4", "X-GitHub-Event", "push")),
	} {
		if again.status != "duplicate" || again.id != first.id {
			t.Errorf("%s: %+v", name, again)
		}
	}
	if other := send(t, "POST", url, "deploy 2", github("deploy 2", "d1")); other.status != "accepted" {
		t.Errorf("another body under the first ID: %+v", other)
	}
	for _, w := range in.windows {
		if w < 72*time.Hour {
			t.Errorf("a body is remembered for %v", w)
		}
	}
}

// Connections that send nothing do not keep out a caller that does: the oldest of them makes room.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	var in inbox
	const seats = 4
	url := serve(t, webhooks.Options{ReadTimeout: time.Minute, Connections: seats}, in.hook("open", anywhere, triggers.AuthNone))
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/open")
	for i := range seats {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 { // some begin a request
			_, _ = io.WriteString(conn, "POST /open HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 50\r\n\r\nslow")
		}
	}
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range 2 * seats {
		answer, err := client.Post(url, "text/plain", strings.NewReader("event "+strconv.Itoa(i)))
		if err != nil {
			t.Fatalf("a caller was kept out: %v", err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusAccepted {
			t.Errorf("%s", answer.Status)
		}
	}
}

// Without an ID the body is what tells two events apart, for a while.
func TestEventsWithoutAnID(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("open", anywhere, triggers.AuthNone))
	one := send(t, "POST", url, "one", nil)
	same := send(t, "POST", url, "one", nil)
	query := send(t, "POST", url+"?x=1", "one", nil)
	named := send(t, "POST", url, "one", map[string]string{"Idempotency-Key": "k"})
	if one.id != same.id || same.status != "duplicate" || query.id == one.id || named.id == one.id {
		t.Errorf("%+v %+v %+v %+v", one, same, query, named)
	}
	if in.windows[0] <= 0 || in.windows[3] != 0 {
		t.Errorf("windows: %v", in.windows)
	}
}

// A webhook that anybody on this machine may call cannot be called by a page in a browser.
func TestPagesAreRefused(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("open", anywhere, triggers.AuthNone))
	for name, c := range map[string]struct {
		header map[string]string
		want   int
	}{
		"a program":                 {nil, 202},
		"by its name":               {map[string]string{"Host": "localhost:80"}, 202},
		"a page":                    {map[string]string{"Origin": "https://evil.test"}, 403},
		"a page of a file":          {map[string]string{"Origin": "null"}, 403},
		"a page of an old browser":  {map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"a name that was rebound":   {map[string]string{"Host": "evil.test:80"}, 403},
		"an address of the network": {map[string]string{"Host": "192.168.0.7"}, 403},
	} {
		if got := send(t, "POST", url, name, c.header); got.code != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{}, in.hook("open", anywhere, triggers.AuthNone))
	if got := send(t, "POST", url, strings.Repeat("x", 101), nil); got.code != 413 {
		t.Errorf("too large: %+v", got)
	}
	if got := send(t, "POST", url, strings.Repeat("x", 100), nil); got.code != 202 {
		t.Errorf("just right: %+v", got)
	}
	if got := send(t, "GET", url, "", nil); got.code != 405 {
		t.Errorf("another method: %+v", got)
	}
	if got := send(t, "POST", url+"/x", "", nil); got.code != 404 {
		t.Errorf("another path: %+v", got)
	}
	if got := send(t, "POST", url, "x", map[string]string{"Content-Encoding": "gzip"}); got.code != 415 {
		t.Errorf("compressed: %+v", got)
	}
	for _, c := range []struct {
		err   error
		code  int
		retry string
	}{
		{errors.New("the disk with /home/ada is full"), 503, "30"},
		{channel.Later(tool.Errorf("x", tool.Limited, "too many"), time.Minute), 429, "60"},
		{tool.Errorf("x", tool.Denied, "the app needs consent to /home/ada"), 403, ""},
		{tool.Errorf("x", tool.Invalid, "the app file of ada is wrong"), 503, "30"},
	} {
		in.mu.Lock()
		in.err = c.err
		in.mu.Unlock()
		if got := send(t, "POST", url, "new", nil); got.code != c.code || got.retry != c.retry || strings.Contains(got.reason, "ada") {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

// What is not what the app takes is refused with the reason.
func TestPayloadThatDoesNotFit(t *testing.T) {
	t.Parallel()
	_, wrong := contract.Payload(json.RawMessage(`{"type":"object","required":["item"]}`), []byte(`{}`))
	in := inbox{err: kernel.Refuse(wrong)}
	url := serve(t, webhooks.Options{}, in.hook("open", anywhere, triggers.AuthNone))
	if got := send(t, "POST", url, `{}`, nil); got.code != 422 || got.retry != "" || !strings.Contains(got.reason, "item") {
		t.Errorf("%+v", got)
	}
}

// A secret without a value lets nobody in.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	var in inbox
	h := in.hook("orders", anywhere, triggers.AuthToken)
	h.Secret = func() (string, error) { return "", errors.New("not set") }
	url := serve(t, webhooks.Options{}, h)
	if got := send(t, "POST", url, "x", map[string]string{"Authorization": "Bearer "}); got.code != 503 || len(in.events) > 0 {
		t.Errorf("%+v", got)
	}
}

// Who sends slowly is not waited for.
func TestSlowSender(t *testing.T) {
	t.Parallel()
	var in inbox
	url := serve(t, webhooks.Options{ReadTimeout: 100 * time.Millisecond, Connections: 2}, in.hook("open", anywhere, triggers.AuthNone))
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/open")
	var slow []net.Conn
	for range 2 {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /open HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: 50\r\n\r\nslow"); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, conn)
	}
	if got := send(t, "POST", url, "quick", nil); got.code != 202 { // once the slow ones are gone
		t.Errorf("%+v", got)
	}
	for _, conn := range slow {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		data, err := io.ReadAll(conn)
		if err != nil || bytes.Contains(data, []byte(" 202 ")) {
			t.Errorf("a slow one: %s %v", data, err)
		}
	}
	if len(in.events) != 1 {
		t.Errorf("%d events", len(in.events))
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	var in inbox
	s := webhooks.New(webhooks.Options{})
	defer s.Close()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	a, b := in.hook("a", anywhere, triggers.AuthNone), in.hook("b", anywhere, triggers.AuthNone)
	same := in.hook("a", anywhere, triggers.AuthNone)
	same.Key = "same"
	busy := in.hook("busy", taken.Addr().String(), triggers.AuthNone)
	heard := s.Listen([]kernel.Hook{a, b, same, busy})
	if heard["a"].Err != nil || heard["a"].Address != heard["b"].Address || tool.KindOf(heard["same"].Err) != tool.Conflict ||
		tool.KindOf(heard["busy"].Err) != tool.Unavailable {
		t.Errorf("%+v", heard)
	}
	url := "http://" + heard["a"].Address
	again := s.Listen([]kernel.Hook{b}) // a is gone
	if again["b"].Address != heard["b"].Address {
		t.Errorf("%+v", again)
	}
	if got := send(t, "POST", url+"/a", "x", nil); got.code != 404 {
		t.Errorf("a webhook that is gone: %+v", got)
	}
	if got := send(t, "POST", url+"/b", "x", nil); got.code != 202 {
		t.Errorf("one that is not: %+v", got)
	}
	s.Listen(nil)
	s.Close()
	if conn, err := net.DialTimeout("tcp", heard["a"].Address, time.Second); err == nil {
		_ = conn.Close()
		t.Error("it still listens")
	}
	if late := s.Listen([]kernel.Hook{a}); late["a"].Err == nil {
		t.Error("a server that is closed listens")
	}
}
