package forward

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"callgate/internal/secret/authority"
	"callgate/tool"
)

// proofHeader shows that a node with the cluster's key sends a request: what it says of who asks, and all that is asked.
const proofHeader = "Callgate-Forwarded-Proof"

const (
	// proofTime is how far the clocks of two nodes may be apart, with the time that a request takes. A proof is good for
	// one request.
	proofTime = 5 * time.Minute
	maxBody   = 64 << 20 // as a kernel takes
	proofUse  = "forwarded request"
)

// proofHeaders are the headers that a proof covers, beside the body and the line of the request.
func proofHeaders() []string { return []string{loginHeader, callHeader, "Idempotency-Key"} }

// proven is what a proof covers.
func proven(r *http.Request, from, to string, body []byte, at, nonce string) [][]byte {
	digest := sha256.Sum256(body)
	parts := [][]byte{
		[]byte(from), []byte(to), []byte(r.Method), []byte(r.URL.RequestURI()), digest[:], []byte(at), []byte(nonce),
	}
	for _, name := range proofHeaders() {
		parts = append(parts, []byte(strings.Join(r.Header.Values(name), "\n")))
	}
	return parts
}

// noKey is the error of a node that can neither prove nor check anything.
func noKey() *tool.Error {
	return tool.Errorf("forward", tool.Unavailable, "this node has no key of the cluster, so it asks no other node and answers none").
		WithHint("place the key at each node: callgate help cluster, \"The key of the cluster\"")
}

// prove adds the proof to a request for a node.
func prove(key *authority.Key, r *http.Request, from, to string, body []byte) error {
	if key == nil {
		return noKey()
	}
	at, nonce := strconv.FormatInt(time.Now().UnixMilli(), 10), rand.Text()
	code := key.Sign(proofUse, proven(r, from, to, body, at, nonce)...)
	r.Header.Set(proofHeader, strings.Join([]string{at, nonce, base64.RawStdEncoding.EncodeToString(code)}, " "))
	return nil
}

// wholeBody reads the body of a request, which a proof covers.
func wholeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, &tool.Error{Op: "forward", Kind: tool.Cancelled, Message: "the request broke off", Err: err}
	case len(body) > maxBody:
		return nil, tool.Errorf("forward", tool.Invalid, "the request is larger than %d MiB", maxBody>>20)
	}
	return body, nil
}

// proofs remembers which proofs were used.
type proofs struct {
	mu    sync.Mutex
	used  map[string]time.Time // until when each nonce would be good
	swept time.Time
}

// check returns an error for a request that no node with the key sent, or that was sent before. The body can be read
// again.
func (p *proofs) check(key *authority.Key, r *http.Request, from Node, to string) error {
	if key == nil {
		return noKey()
	}
	refused := func(why string) error {
		return tool.Errorf("forward", tool.Denied, "the request of the node %s is not believed: %s", from.Name, why).
			WithHint("each node needs the same key of the cluster, and a clock that is right")
	}
	fields := strings.Fields(r.Header.Get(proofHeader))
	if len(fields) != 3 {
		return refused("it has no proof")
	}
	code, err := base64.RawStdEncoding.DecodeString(fields[2])
	millis, bad := strconv.ParseInt(fields[0], 10, 64)
	if err != nil || bad != nil {
		return refused("its proof cannot be read")
	}
	body, err := wholeBody(r)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if !key.Verify(code, proofUse, proven(r, from.ID, to, body, fields[0], fields[1])...) {
		return refused("its proof is not of this request, or was made with another key")
	}
	now, at := time.Now(), time.UnixMilli(millis)
	if now.Sub(at).Abs() > proofTime {
		return refused("its proof was made at " + at.UTC().Format(time.RFC3339) + ", and here it is " + now.UTC().Format(time.RFC3339))
	}
	if !p.take(fields[1], now) {
		return refused("it was sent before")
	}
	return nil
}

// take reports whether a nonce is new.
func (p *proofs) take(nonce string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[string]time.Time{}
	}
	if now.Sub(p.swept) > proofTime {
		for one, until := range p.used {
			if now.After(until) {
				delete(p.used, one)
			}
		}
		p.swept = now
	}
	if _, used := p.used[nonce]; used {
		return false
	}
	p.used[nonce] = now.Add(2 * proofTime)
	return true
}
