package operations

const (
	// RouteMySecrets lists the secrets of the user whose token asks, for all apps: the answer is a list of Secret.
	RouteMySecrets = "GET /v1/users/me/secrets"
	// RouteSetMySecret sets one of them: the body is a SetMySecret.
	RouteSetMySecret = "PUT /v1/users/me/secrets/{name}"
	// RouteDeleteMySecret deletes one of them; with ?app=ID, one for that app.
	RouteDeleteMySecret = "DELETE /v1/users/me/secrets/{name}"
)

// SetMySecret is a value for a secret of one's own. No answer ever has it.
type SetMySecret struct {
	Value []byte `json:"value"`
	App   string `json:"app,omitempty"` // the app that it is for; left out: every app
}
