package forward_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"callgate/internal/daemon/forward"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/token"
)

// writer is somebody who can write in the database that nodes share, and has nothing else.
func writer(t *testing.T, url string) func(statement string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	kerneltest.OK(t, err)
	t.Cleanup(func() { kerneltest.OK(t, conn.Close(context.Background())) })
	return func(statement string, args ...any) {
		t.Helper()
		done, err := conn.Exec(t.Context(), statement, args...)
		kerneltest.OK(t, err)
		if done.RowsAffected() == 0 {
			t.Fatalf("nothing was changed by %s", statement)
		}
	}
}

// attack is a request to a node over the network.
type attack struct {
	cert  tls.Certificate
	login string
	proof func(*http.Request) // may be nil
	body  string
}

func (a attack) send(t *testing.T, to *node, path string) int {
	t.Helper()
	living, err := kernel.NodeOf(to.kernel).Living(t.Context())
	kerneltest.OK(t, err)
	address := ""
	for _, m := range living {
		if m.This {
			address = m.Address
		}
	}
	link := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{a.cert},
	}}
	defer link.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+path, strings.NewReader(a.body))
	kerneltest.OK(t, err)
	r.Header.Set(forward.LoginHeader, a.login)
	if a.proof != nil {
		a.proof(r)
	}
	resp, err := link.RoundTrip(r)
	if err != nil {
		return 0 // no connection
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

const asAdmin = `{"user":"eve","pid":1,"role":"admin"}`

// An attacker with write access to the database invents a node with a certificate of their own, or gives a node's row their own
// certificate: neither is answered.
func TestInventedNode(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	all := newSharedAt(t, url, 2, risky(t))
	a, b := all[0], all[1]
	write := writer(t, url)
	evil := forward.NewCertificate(t)
	sum := sha256.Sum256(evil.Certificate[0])
	info := fmt.Sprintf(`{"address":"127.0.0.1:1","fingerprint":%q}`, hex.EncodeToString(sum[:]))
	known := forward.CertificateOf(b.forwarder)
	if got := (attack{cert: known, login: asOperator, body: "{}", proof: func(r *http.Request) {
		forward.Prove(t, b.forwarder, r, a.id, []byte("{}"))
	}}).send(t, a, "/v1/sessions"); got != http.StatusOK {
		t.Fatalf("a node is answered %d", got)
	}
	write(`INSERT INTO callgate.nodes (id, epoch, name, address, version, state, started, heartbeat, lease_until, info)
		VALUES ('evil', 1, 'evil', '', '0', 'up', now(), now(), now() + interval '1 hour', $1)`, info)
	until(t, func() bool { return isListed(t, a, "evil") })
	for name, path := range map[string]string{"opens a session": "/v1/sessions", "lists": "/v1/approvals"} {
		if got := (attack{cert: evil, login: asAdmin, body: "{}"}).send(t, a, path); got != 0 && got != http.StatusForbidden {
			t.Errorf("an invented node %s: %d", name, got)
		}
	}
	living, err := kernel.NodeOf(a.kernel).Living(t.Context())
	kerneltest.OK(t, err)
	for _, m := range living {
		if m.ID == "evil" && (m.Address != "" || m.Fingerprint != "") {
			t.Errorf("an invented node is believed to be at %s", m.Address)
		}
	}
	// A row that is changed is what its node said before its next heartbeat, and no longer.
	write("UPDATE callgate.nodes SET info = info || $2::jsonb WHERE id = $1", b.id, info)
	if got := (attack{cert: evil, login: asAdmin, body: "{}"}).send(t, a, "/v1/sessions"); got != 0 && got != http.StatusForbidden {
		t.Errorf("in the place of a node: %d", got)
	}
}

func until(t *testing.T, holds func() bool) { t.Helper(); kerneltest.Eventually(t, holds) }

func isListed(t *testing.T, n *node, id string) bool {
	living, err := kernel.NodeOf(n.kernel).Living(t.Context())
	kerneltest.OK(t, err)
	for _, m := range living {
		if m.ID == id {
			return true
		}
	}
	return false
}

// The certificate of a node is not enough: a request carries a proof of who asks and of all that is asked, once.
func TestForwardedRequestsNeedProof(t *testing.T) {
	t.Parallel()
	all := newShared(t, 2, risky(t))
	a, b := all[0], all[1]
	node := forward.CertificateOf(b.forwarder)
	prove := func(to, body string) func(*http.Request) {
		return func(r *http.Request) { forward.Prove(t, b.forwarder, r, to, []byte(body)) }
	}
	used := ""
	for _, c := range []struct {
		name  string
		login string
		proof func(*http.Request)
		want  int
	}{
		{"no proof", asOperator, nil, http.StatusForbidden},
		{"its own", asOperator, func(r *http.Request) {
			prove(a.id, "{}")(r)
			used = r.Header.Get(forward.ProofHeader)
		}, http.StatusOK},
		{"the same again", asOperator, func(r *http.Request) { r.Header.Set(forward.ProofHeader, used) }, http.StatusForbidden},
		{"for another node", asOperator, prove("other", "{}"), http.StatusForbidden},
		{"of another body", asOperator, prove(a.id, `{"workspace":"/"}`), http.StatusForbidden},
		{"of another who", asOperator, func(r *http.Request) {
			prove(a.id, "{}")(r)
			r.Header.Set(forward.LoginHeader, asAdmin)
		}, http.StatusForbidden},
		{"of another path", asOperator, func(r *http.Request) {
			prove(a.id, "{}")(r)
			r.URL.RawQuery = "node=" + a.id
		}, http.StatusForbidden},
		{"what is no proof", asOperator, func(r *http.Request) { r.Header.Set(forward.ProofHeader, "1 2 3") }, http.StatusForbidden},
	} {
		got := (attack{cert: node, login: c.login, body: "{}", proof: c.proof}).send(t, a, "/v1/sessions")
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// An attacker with write access to the database inserts a token, or changes the role of one: neither counts.
func TestInventedToken(t *testing.T) {
	t.Parallel()
	url := kerneltest.Postgres.URL(t)
	all := newSharedAt(t, url, 2)
	a, b := all[0], all[1]
	write := writer(t, url)
	value := token.Prefix + "forged01_" + strings.Repeat("A", 26)
	sum := sha256.Sum256([]byte(value))
	forged := fmt.Sprintf(`{"id":"forged01","name":"forged01","role":"admin","created":%q,"hash":%q}`,
		time.Now().UTC().Format(time.RFC3339), hex.EncodeToString(sum[:]))
	write(`INSERT INTO callgate.documents (node, collection, key, version, data, updated)
		VALUES ('', 'tokens', 'forged01', nextval('callgate.document_versions'), convert_to($1, 'UTF8'), 0)`, forged)
	viewer, made := a.token(token.Viewer)
	for _, n := range all {
		if status, text := n.with(value, "GET", n.web().URL()+"/v1/tokens", ""); status != http.StatusForbidden {
			t.Errorf("a token of the writer's own: %d %s", status, text)
		}
		list, err := n.kernel.Tokens.List(t.Context(), kerneltest.Human(t, n.kernel))
		kerneltest.OK(t, err)
		if len(list) != 1 || list[0].ID != made.ID {
			t.Errorf("the tokens are %+v", list)
		}
	}
	write(`UPDATE callgate.documents SET data = convert_to(replace(convert_from(data, 'UTF8'), '"viewer"', '"admin"'), 'UTF8')
		WHERE collection = 'tokens' AND key = convert_to($1, 'UTF8')`, made.ID)
	if status, text := b.with(viewer, "GET", b.web().URL()+"/v1/tokens", ""); status == http.StatusOK {
		t.Errorf("a viewer that was made an admin: %d %s", status, text)
	}
}
