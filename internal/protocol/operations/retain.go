package operations

// RouteRetain removes what the rules of retain no longer keep: the body is a Retain, the answer a Retained.
const RouteRetain = "POST /v1/retain"

// Retain asks for what is kept no longer to be removed now.
type Retain struct {
	DryRun bool `json:"dry_run,omitempty"` // say what would go, and remove nothing
}

// Retained is what was removed. A dry run does not count tasks and artifacts.
type Retained struct {
	Applied       bool     `json:"applied"`
	Records       uint64   `json:"records"`
	Conversations []string `json:"conversations"` // their IDs
	Tasks         int      `json:"tasks"`
	Artifacts     int      `json:"artifacts"`
	Logs          []string `json:"logs"` // the names of files
}
