package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

// The headers of a message in the form of Standard Webhooks.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far the clock of a sender may be from ours, and how long a signed
// message may be on its way.
const Tolerance = 5 * time.Minute

// secretPrefix marks a secret that is written in base64.
const secretPrefix = "whsec_"

// key is the bytes of a secret.
func key(secret string) []byte {
	if rest, ok := strings.CutPrefix(secret, secretPrefix); ok {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
			if decoded, err := encoding.DecodeString(rest); err == nil {
				return decoded
			}
		}
	}
	return []byte(secret)
}

// Sign is the value of webhook-signature for a message.
func Sign(secret, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key(secret))
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Verify checks the signature of a message in the form of Standard Webhooks, and that
// it is not old.
func Verify(secret string, h http.Header, body []byte, now time.Time) error {
	const op = "webhook.Verify"
	id, stamp, given := h.Get(HeaderID), h.Get(HeaderTimestamp), h.Get(HeaderSignature)
	if id == "" || stamp == "" || given == "" {
		return tool.Errorf(op, tool.Denied, "the request is not signed").
			WithHint("sign it in the form of Standard Webhooks: %s, %s, %s", HeaderID, HeaderTimestamp, HeaderSignature)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return tool.Errorf(op, tool.Denied, "%s is not a number of seconds", HeaderTimestamp)
	}
	at := time.Unix(seconds, 0)
	if age := now.Sub(at); age > Tolerance || age < -Tolerance {
		return tool.Errorf(op, tool.Denied, "the request was signed at another time than now").
			WithHint("%s may differ from the clock here by %v; sign it again", HeaderTimestamp, Tolerance)
	}
	want := []byte(Sign(secret, id, at, body))
	for one := range strings.FieldsSeq(given) { // of a sender that is changing its secret
		if secret != "" && subtle.ConstantTimeCompare([]byte(one), want) == 1 {
			return nil
		}
	}
	return tool.Errorf(op, tool.Denied, "the signature is not right").WithHint("sign it with the secret that is set here")
}

// VerifyGitHub checks the signature that GitHub and others of its kind send in
// X-Hub-Signature-256. It covers the body alone.
func VerifyGitHub(secret string, h http.Header, body []byte) error {
	const op, header = "webhook.VerifyGitHub", "X-Hub-Signature-256"
	given, ok := strings.CutPrefix(h.Get(header), "sha256=")
	if !ok {
		return tool.Errorf(op, tool.Denied, "the request is not signed").
			WithHint("set the secret at the sender, which then sends %s", header)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	sum, err := hex.DecodeString(given)
	if err != nil || secret == "" || !hmac.Equal(sum, mac.Sum(nil)) {
		return tool.Errorf(op, tool.Denied, "the signature is not right").WithHint("sign it with the secret that is set here")
	}
	return nil
}

// VerifyToken checks a token in a header. In Authorization it follows Bearer.
func VerifyToken(secret, header string, h http.Header) error {
	given := h.Get(header)
	if strings.EqualFold(header, "Authorization") {
		scheme, rest, _ := strings.Cut(given, " ")
		if given = ""; strings.EqualFold(scheme, "Bearer") {
			given = strings.TrimSpace(rest)
		}
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret)) // of one length
	if secret == "" || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return tool.Errorf("webhook.VerifyToken", tool.Denied, "the token is missing or wrong").
			WithHint("send it in the header %s", header)
	}
	return nil
}
