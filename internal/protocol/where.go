package protocol

// Where says which app files are in force in a workspace, and why.
type Where struct {
	Search []string    `json:"search"`          // how they were found
	Files  []FileParts `json:"files,omitempty"` // those in force, the project's first
	Wins   []string    `json:"wins,omitempty"`  // what wins where they differ
}

// FileParts is what one app file brings.
type FileParts struct {
	Path     string   `json:"path"`
	Level    string   `json:"level"` // project or user
	Servers  []string `json:"servers,omitempty"`
	APIs     []string `json:"apis,omitempty"`
	Agents   []string `json:"agents,omitempty"`
	Skills   []string `json:"skills,omitempty"`
	Profiles []string `json:"profiles,omitempty"`
	Modules  []string `json:"modules,omitempty"` // those that it sets up
	Rules    []string `json:"rules,omitempty"`
	Waits    []string `json:"waits,omitempty"` // what of it waits for a human
}

// The levels of app files.
const (
	LevelProject = "project"
	LevelUser    = "user"
)
