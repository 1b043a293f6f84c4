package protocol

// AppAbout is what an app file says of its app for people.
type AppAbout struct {
	Name         string        `json:"name,omitempty"`
	ShortName    string        `json:"short_name,omitempty"`
	Version      string        `json:"version,omitempty"`
	Description  string        `json:"description,omitempty"`
	Author       string        `json:"author,omitempty"`
	Icon         string        `json:"icon,omitempty"`
	Color        string        `json:"color,omitempty"`
	Category     string        `json:"category,omitempty"`
	Tags         []string      `json:"tags,omitempty"`
	QuickPrompts []QuickPrompt `json:"quick_prompts,omitempty"`
}

// QuickPrompt is something to say that people are offered.
type QuickPrompt struct {
	Label   string `json:"label"`
	Message string `json:"message"`
	Icon    string `json:"icon,omitempty"`
}
