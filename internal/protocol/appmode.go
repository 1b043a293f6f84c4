package protocol

// RouteSetAppMode changes the mode of its app in which a conversation works, and answers
// with the Conversation, as it is then.
const RouteSetAppMode = "POST /v1/conversations/{id}/app-mode"

// AppModes are the modes that a conversation's app has, and the one that it works in.
// They are not permission modes: see PermissionMode.
type AppModes struct {
	Current string    `json:"current"`
	All     []AppMode `json:"all"`
}

// AppMode is a way of working that an app file names.
type AppMode struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// SetAppMode asks for another mode of the app.
type SetAppMode struct {
	Mode string `json:"mode"`
	By   string `json:"by,omitempty"` // who changes it, for the journal
}
