package modules

import "callgate/internal/search/embed"

// embedder reads texts with the model that is built in.
type embedder struct{}

// Vectors returns the meaning of each text.
func (embedder) Vectors(texts []string) ([][]float32, error) {
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
