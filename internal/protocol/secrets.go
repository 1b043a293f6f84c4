package protocol

import "callgate/internal/secret"

// The routes of the secret store. Each needs the human's key, and none ever
// answers with a value.
const (
	RouteSecrets      = "GET /v1/secrets"
	RouteSetSecret    = "PUT /v1/secrets/{name}"
	RouteDeleteSecret = "DELETE /v1/secrets/{name}"
)

// Secret is what is told of a secret.
type Secret = secret.Info

// The most bytes that a value may have, and the fewest with which it is taken
// out of what is shown and written down.
const (
	MaxSecret   = secret.MaxValue
	MinScrubbed = secret.MinScrubbed
)

// SetSecret is a value to keep. It may be any bytes.
type SetSecret struct {
	Value []byte `json:"value"`
	By    string `json:"by,omitempty"`
}

// DeleteSecret says who takes a secret away.
type DeleteSecret struct {
	By string `json:"by,omitempty"`
}
