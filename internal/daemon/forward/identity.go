package forward

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"math/big"
	"time"

	"callgate/tool"
)

// identity is the certificate of a node, which lives as long as its process.
type identity struct {
	certificate tls.Certificate
	fingerprint string
}

func newIdentity(name string) (identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return identity{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return identity{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * time.Hour), // the clocks of machines differ; nobody looks at it
		NotAfter:  time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return identity{}, err
	}
	return identity{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, fingerprintOf(der)}, nil
}

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// peerOf is the fingerprint of the certificate that the other side has shown; "": none.
func peerOf(state *tls.ConnectionState) string {
	if state == nil || len(state.PeerCertificates) == 0 {
		return ""
	}
	return fingerprintOf(state.PeerCertificates[0].Raw)
}

// dialing is how a node is reached: nobody else than who has its certificate is spoken to.
func (i identity) dialing(n Node) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: true, // no authority signs it: VerifyConnection compares it with what the database says
		VerifyConnection: func(state tls.ConnectionState) error {
			if n.Fingerprint == "" || peerOf(&state) != n.Fingerprint {
				return tool.Errorf("forward", tool.Denied,
					"what answers at %s does not have the certificate of the node %s", n.Address, n.Name).
					WithHint("another program may listen there, or the node was just started again")
			}
			return nil
		},
	}
}

// serving is how nodes are let in: each shows a certificate, which check knows.
func (i identity) serving(check func(fingerprint string) error) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{i.certificate}, MinVersion: tls.VersionTLS13,
		ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"http/1.1"},
		SessionTicketsDisabled: true,
		VerifyConnection:       func(state tls.ConnectionState) error { return check(peerOf(&state)) },
	}
}
