package protocol

import "time"

// The routes of signing keys. A person trusts one, and none ever answers with a secret key.
const (
	RouteKeys      = "GET /v1/keys"
	RouteCreateKey = "POST /v1/keys/{name}"
	RouteTrustKey  = "PUT /v1/keys/{name}/trust"
	RouteRemoveKey = "DELETE /v1/keys/{name}"
	RouteSign      = "POST /v1/sign"
)

// Key is what is known of a signing key.
type Key struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"`
	Key     string    `json:"key"`     // the public one, as minisign writes it
	Trusted bool      `json:"trusted"` // what it signs counts
	Own     bool      `json:"own"`     // the kernel signs with it
	Since   time.Time `json:"since"`
}

// TrustKey is a public key that a person trusts.
type TrustKey struct {
	Key string `json:"key"`
	By  string `json:"by,omitempty"`
}

// Sign is a file to sign.
type Sign struct {
	Key     string `json:"key,omitempty"` // the name of an own key; "": the only one
	File    string `json:"file"`          // its name, without a folder
	Data    []byte `json:"data"`
	Program string `json:"program,omitempty"` // the digest of the executable of a manifest
	By      string `json:"by,omitempty"`
}

// Signature is what stands in the file beside the one that was signed.
type Signature struct {
	Signature []byte `json:"signature"`
}
