package operations

import "time"

const (
	// RouteUsers lists the users that came in with tokens and logins: the answer is a list of User.
	RouteUsers = "GET /v1/users"
	// RouteUser tells of one by name: the answer is a User.
	RouteUser = "GET /v1/users/{name}"
	// RouteMe tells whoever asks of themselves: the answer is a User.
	RouteMe = "GET /v1/users/me"
	// RouteRevokeUser ends all tokens and logins of a user: the answer is the User.
	RouteRevokeUser = "POST /v1/users/{name}/revoke"
)

// User is what is known of a user, without anything that they wrote.
type User struct {
	Name     string    `json:"name"`
	FullName string    `json:"full_name,omitempty"`
	Teams    []string  `json:"teams,omitempty"`
	First    time.Time `json:"first,omitzero"`   // the day they were seen first
	Last     time.Time `json:"last,omitzero"`    // and last
	Revoked  time.Time `json:"revoked,omitzero"` // when all that they had was revoked last
	Roles    []string  `json:"roles,omitempty"`  // of the tokens that count
	Tokens   int       `json:"tokens"`           // that count, also those of a provider
	Logins   int       `json:"logins"`           // of browsers

	Sessions      int     `json:"sessions"`      // that are open at this node
	Conversations int     `json:"conversations"` // that this node has
	Usage         []Usage `json:"usage,omitempty"`
}

// Usage is what a user, or a team of theirs, has used.
type Usage struct {
	Of    string    `json:"of"` // user or team
	Name  string    `json:"name"`
	Limit string    `json:"limit"` // as an app file writes it: usd_per_day
	Used  float64   `json:"used"`
	Most  float64   `json:"most,omitempty"` // 0: it is not limited
	Until time.Time `json:"until,omitzero"` // when it begins anew; left out for what runs at once
}
