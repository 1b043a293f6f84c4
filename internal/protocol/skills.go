package protocol

// The routes of skills.
const (
	RouteSkills     = "GET /v1/sessions/{session}/skills"
	RouteSkillTrust = "POST /v1/sessions/{session}/skills/{skill}/trust"
)

// FoundSkill is a skill that a session has, or could have.
type FoundSkill struct {
	Command     string `json:"command"`
	Description string `json:"description,omitempty"`
	Source      string `json:"source"` // user, app, project, home or callgate
	State       string `json:"state"`  // accepted, changed, new, broken, off or shadowed
	Path        string `json:"path"`
	Digest      string `json:"digest,omitempty"`
	Problem     string `json:"problem,omitempty"` // why it cannot be read
	// Text is what a model is given, Files what lies beside it, and States those of a
	// skill with states.
	Text   string   `json:"text,omitempty"`
	Files  []string `json:"files,omitempty"`
	States []string `json:"states,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// SkillTrust is a human's word on a skill.
type SkillTrust struct {
	Source string `json:"source,omitempty"` // where several have the name
	Digest string `json:"digest,omitempty"` // of the skill as it was shown
	Revoke bool   `json:"revoke,omitempty"` // take the word back
	By     string `json:"by,omitempty"`
}
