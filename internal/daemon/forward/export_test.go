package forward

import (
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// LoginHeader says who asks, from node to node.
const LoginHeader = loginHeader

// Placed lists the routes that are placed.
func Placed() []string { return slices.Sorted(maps.Keys(placements())) }

// ProofHeader shows that a node with the key sends a request.
const ProofHeader = proofHeader

// Prove adds the proof of a node to a request for another.
func Prove(t testing.TB, f *Forwarder, r *http.Request, to string, body []byte) {
	if err := prove(f.opt.Key, r, f.self.ID, to, body); err != nil {
		t.Fatal(err)
	}
}

// NewCertificate makes a certificate that no node has.
func NewCertificate(t testing.TB) tls.Certificate {
	made, err := newIdentity("stranger")
	if err != nil {
		t.Fatal(err)
	}
	return made.certificate
}

// CertificateOf is the certificate of a node.
func CertificateOf(f *Forwarder) tls.Certificate { return f.identity.certificate }

// Cut breaks the connections of other nodes to this one, as a process that is killed does.
func Cut(f *Forwarder) { _ = f.server.server.Close() }

// Sweep closes what is not needed any more, now.
func Sweep(f *Forwarder) { f.server.sweepOnce(context.Background()) }

// Members are the nodes that a function lists.
type Members struct{ *members }

// NewMembers remembers what list says.
func NewMembers(list func() []Node) Members {
	return Members{&members{Directory: listed{list: list}, fresh: freshTime}}
}

// ByID finds a node.
func (m Members) ByID(id string) error {
	_, err := m.byID(context.Background(), id)
	return err
}

type listed struct {
	Directory
	list func() []Node
}

func (l listed) Living(context.Context) ([]Node, error) { return l.list(), nil }
