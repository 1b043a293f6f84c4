package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"testing"
	"time"

	"callgate/internal/channel/webhook"
	"callgate/tool"
)

// The example of the Standard Webhooks specification's own libraries.
func TestSignIsTheStandards(t *testing.T) {
	got := webhook.Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func header(id string, at time.Time, signature string) http.Header {
	h := http.Header{}
	h.Set(webhook.HeaderID, id)
	h.Set(webhook.HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(webhook.HeaderSignature, signature)
	return h
}

func TestVerify(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	body := []byte("hello")
	right := webhook.Sign("s3cret", "m1", now, body)
	for name, c := range map[string]struct {
		secret string
		header http.Header
		body   string
		at     time.Time
		ok     bool
	}{
		"right":                   {"s3cret", header("m1", now, right), "hello", now, true},
		"two signatures":          {"s3cret", header("m1", now, "v1,AAAA "+right), "hello", now, true},
		"a little later":          {"s3cret", header("m1", now, right), "hello", now.Add(4 * time.Minute), true},
		"replayed":                {"s3cret", header("m1", now, right), "hello", now.Add(6 * time.Minute), false},
		"from the future":         {"s3cret", header("m1", now, right), "hello", now.Add(-6 * time.Minute), false},
		"another secret":          {"other", header("m1", now, right), "hello", now, false},
		"another ID":              {"s3cret", header("m2", now, right), "hello", now, false},
		"another time":            {"s3cret", header("m1", now.Add(time.Second), right), "hello", now, false},
		"another body":            {"s3cret", header("m1", now, right), "hello!", now, false},
		"another version":         {"s3cret", header("m1", now, "v1a"+right[2:]), "hello", now, false},
		"no signature":            {"s3cret", header("m1", now, ""), "hello", now, false},
		"no ID":                   {"s3cret", header("", now, right), "hello", now, false},
		"no headers":              {"s3cret", http.Header{}, "hello", now, false},
		"a time that is none":     {"s3cret", http.Header{"Webhook-Id": {"m1"}, "Webhook-Timestamp": {"now"}, "Webhook-Signature": {right}}, "hello", now, false},
		"no secret, signed by \"": {"", header("m1", now, webhook.Sign("", "m1", now, body)), "hello", now, false},
	} {
		err := webhook.Verify(c.secret, c.header, []byte(c.body), c.at)
		if (err == nil) != c.ok || err != nil && tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyGitHub(t *testing.T) {
	// The example of GitHub's documentation.
	const right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	check := func(secret, value, body string) error {
		return webhook.VerifyGitHub(secret, http.Header{"X-Hub-Signature-256": {value}}, []byte(body))
	}
	if err := check("It's a Secret to Everybody", right, "Hello, World!"); err != nil {
		t.Error(err)
	}
	mac := hmac.New(sha256.New, nil)
	mac.Write([]byte("x"))
	for name, err := range map[string]error{
		"another body":   check("It's a Secret to Everybody", right, "Hello, World"),
		"another secret": check("It's a secret to Everybody", right, "Hello, World!"),
		"sha1":           check("It's a Secret to Everybody", "sha1="+right[7:], "Hello, World!"),
		"cut":            check("It's a Secret to Everybody", right[:20], "Hello, World!"),
		"nothing":        check("It's a Secret to Everybody", "", "Hello, World!"),
		"no secret":      check("", "sha256="+hex.EncodeToString(mac.Sum(nil)), "x"),
	} {
		if tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifyToken(t *testing.T) {
	for name, c := range map[string]struct {
		secret, header, value string
		ok                    bool
	}{
		"bearer":             {"abc", "Authorization", "Bearer abc", true},
		"bearer, small":      {"abc", "authorization", "bearer  abc", true},
		"no scheme":          {"abc", "Authorization", "abc", false},
		"basic":              {"abc", "Authorization", "Basic abc", false},
		"another header":     {"abc", "X-Gitlab-Token", "abc", true},
		"wrong":              {"abc", "X-Gitlab-Token", "abd", false},
		"longer":             {"abc", "X-Gitlab-Token", "abcd", false},
		"nothing":            {"abc", "X-Gitlab-Token", "", false},
		"no secret":          {"", "X-Gitlab-Token", "", false},
		"no secret, bearer:": {"", "Authorization", "Bearer ", false},
	} {
		h := http.Header{}
		h.Set(c.header, c.value)
		if err := webhook.VerifyToken(c.secret, c.header, h); (err == nil) != c.ok || err != nil && tool.KindOf(err) != tool.Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No header passes that was not signed, whatever is in it.
func FuzzVerify(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	f.Add("m1", "1800000000", webhook.Sign("s3cret", "m1", now, []byte("x")), "x")
	f.Add("", "", "v1, v1,", "")
	f.Fuzz(func(t *testing.T, id, stamp, signature, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {signature}}
		if webhook.Verify("another secret", h, []byte(body), now) == nil {
			t.Errorf("%q %q %q %q passed", id, stamp, signature, body)
		}
	})
}
