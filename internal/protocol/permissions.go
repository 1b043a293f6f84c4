package protocol

// PermissionMode is what a conversation does about calls that change something.
type PermissionMode string

// The modes.
const (
	ModeAsk         PermissionMode = "ask"          // as the rules say
	ModeAcceptEdits PermissionMode = "accept-edits" // changes of files inside the workspace are not asked about
	ModePlan        PermissionMode = "plan"         // nothing that changes anything runs
)

// Permissions are what a conversation may do without asking, beside what the rules say.
type Permissions struct {
	Mode  PermissionMode `json:"mode"`
	Allow []string       `json:"allow,omitempty"` // tools and patterns, as people read them
	By    string         `json:"by,omitempty"`    // who set the mode
	// Unattended says that nobody answers: what needs a human is refused at once.
	Unattended bool `json:"unattended,omitempty"`
}

// SetPermissions changes them. Only who could answer the conversation's approvals may
// let it do more.
type SetPermissions struct {
	Mode  PermissionMode `json:"mode,omitempty"`  // empty: it stays
	Allow []string       `json:"allow,omitempty"` // added: "shell: go test *", "Write: src/**"
	// Unattended says that nobody answers: what needs a human is refused at once. Nil: as it was.
	Unattended *bool  `json:"unattended,omitempty"`
	By         string `json:"by,omitempty"`
	// Form names the client in which the human who owns the conversation chose the mode: see
	// FormAnswer. Allow needs more.
	Form string `json:"form,omitempty"`
}
