package modules

import "callgate/internal/search/embed"

// BuiltinEmbedder reads texts with the embedding model that is built in. The model is loaded when it is first used.
type BuiltinEmbedder struct{}

// ID names the model and its version.
func (BuiltinEmbedder) ID() string {
	model, err := embed.Builtin()
	if err != nil {
		return ""
	}
	return model.ID()
}

// Vectors returns the meaning of each text.
func (BuiltinEmbedder) Vectors(texts []string) ([][]float32, error) {
	model, err := embed.Builtin()
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = model.Embed(nil, text)
	}
	return out, nil
}
