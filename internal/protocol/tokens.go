package protocol

import "time"

// The routes of tokens and codes. To make a token takes a person at a terminal; the others take the human's key.
const (
	RouteTokens           = "GET /v1/tokens"
	RouteCreateToken      = "POST /v1/tokens"
	RouteRevokeToken      = "DELETE /v1/tokens/{name}"
	RouteChallenge        = "POST /v1/approvals/{id}/challenge"
	RouteConsentChallenge = "POST /v1/challenge"
	RouteConsole          = "POST /v1/console" // a ConsoleLink, for a person at a terminal
)

// Headers of requests that need a person's word.
const (
	TokenHeader = "Callgate-Token" // a token that a human made for this
	CodeHeader  = "Callgate-Code"  // what the person typed at the terminal: see Challenge
)

// TokenPrefix begins the value of every token.
const TokenPrefix = "cgt_"

// Challenge is what a person must do before their yes counts.
type Challenge struct {
	Code string `json:"code,omitempty"` // to be typed at the terminal; empty: nothing
}

// OpenConsole asks for a link to the console.
type OpenConsole struct {
	By string `json:"by,omitempty"`
}

// ConsoleLink is a link with which a browser is let in, once.
type ConsoleLink struct {
	URL string `json:"url"`
}

// Token is what is known of a token.
type Token struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Role     string    `json:"role"`
	Profile  string    `json:"profile,omitempty"`
	By       string    `json:"by,omitempty"`
	User     string    `json:"user,omitempty"`      // whom it stands for; empty: the kernel's own user
	FullName string    `json:"full_name,omitempty"` // of the user, for people
	Teams    []string  `json:"teams,omitempty"`
	Login    bool      `json:"login,omitempty"`  // it is the login of a browser
	Bearer   bool      `json:"bearer,omitempty"` // a provider vouches for its user
	Revoked  time.Time `json:"revoked,omitzero"` // of one that a provider vouched for
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	LastUsed time.Time `json:"last_used,omitzero"`
}

// CreateToken asks for a new token.
type CreateToken struct {
	Name    string    `json:"name,omitempty"`
	Role    string    `json:"role"`
	Profile string    `json:"profile,omitempty"`
	By      string    `json:"by,omitempty"`
	User    string    `json:"user,omitempty"` // whom it stands for; empty: the kernel's own user
	Teams   []string  `json:"teams,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// CreatedToken is a new token. Its value is told this once.
type CreatedToken struct {
	Token
	Value string `json:"value"`
}
