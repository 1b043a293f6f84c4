package protocol

import "time"
import "callgate/internal/protocol/scoped"

// The routes of the secret store. Each needs the human's key, and none ever answers with a value.
const (
	RouteSecrets      = "GET /v1/secrets"
	RouteSetSecret    = "PUT /v1/secrets/{name}"
	RouteDeleteSecret = "DELETE /v1/secrets/{name}"
)

// Secret is what is known of a secret.
type Secret struct {
	Name   string    `json:"name"`
	Source string    `json:"source"`
	Set    time.Time `json:"set,omitzero"` // in the store
	scoped.Secret
}

// The most bytes of a value, and the fewest with which it is taken out of what is shown and recorded.
const (
	MaxSecret   = 64 << 10
	MinScrubbed = 8
)

// SetSecret is a value to store. It may be any bytes.
type SetSecret struct {
	Value []byte `json:"value"`
	By    string `json:"by,omitempty"`
	scoped.Secret
}

// DeleteSecret says who deletes a secret.
type DeleteSecret struct {
	By string `json:"by,omitempty"`
	scoped.Secret
}
