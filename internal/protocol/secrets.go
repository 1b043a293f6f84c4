package protocol

import "time"

// The routes of the secret store. Each needs the human's key, and none ever
// answers with a value.
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
	Scoped
}

// Scoped says whose a secret is. Left out: the kernel's.
type Scoped struct {
	Scope string `json:"scope,omitempty"` // system_wide, per_app_shared, per_user, per_app_per_user
	App   string `json:"app,omitempty"`
	User  string `json:"user,omitempty"`
}

// The most bytes that a value may have, and the fewest with which it is taken
// out of what is shown and recorded.
const (
	MaxSecret   = 64 << 10
	MinScrubbed = 8
)

// SetSecret is a value to store. It may be any bytes.
type SetSecret struct {
	Value []byte `json:"value"`
	By    string `json:"by,omitempty"`
	Scoped
}

// DeleteSecret says who deletes a secret.
type DeleteSecret struct {
	By string `json:"by,omitempty"`
	Scoped
}
