package protocol

// The routes that find tools by what is exactly known of them.
const (
	RouteFindTools  = "POST /v1/sessions/{session}/find"
	RouteToolModels = "POST /v1/sessions/{session}/models"
)

// FindTools asks for the tools of a session, every version. Empty fields do not restrict.
type FindTools struct {
	Namespace string  `json:"namespace,omitempty"`
	Prefix    string  `json:"prefix,omitempty"` // of the ID, namespace:name@version
	Tag       string  `json:"tag,omitempty"`
	Model     string  `json:"model,omitempty"`     // provider/model, which must reach the score
	MinScore  float64 `json:"min_score,omitempty"` // 0 to 100; 0: 80
}

// FindModels asks which models were measured to be good at a tool.
type FindModels struct {
	Tool     string  `json:"tool"`                // any of its names, or namespace:name@range
	MinScore float64 `json:"min_score,omitempty"` // 0 to 100; 0: 80
}

// ToolModels are the models that were measured to be good at a tool, best first.
type ToolModels struct {
	Tool   string       `json:"tool"` // its ID
	Models []ModelScore `json:"models"`
}

// ModelScore is how good a model was measured to be.
type ModelScore struct {
	Model string  `json:"model"` // provider/model
	Score float64 `json:"score"` // 0 to 100
}
