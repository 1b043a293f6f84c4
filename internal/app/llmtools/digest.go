package llmtools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"callgate/llmtool"
)

// DigestOf is that of all that a definition says: which models it asks, with what, and within which
// limits. Functions of a Go program have none.
func DigestOf(d llmtool.Definition) string {
	h := sha256.New()
	write := func(parts ...any) {
		if raw, err := json.Marshal(parts); err == nil {
			h.Write(raw)
		}
	}
	write(d.ID, d.InputSchema, d.OutputSchema, d.OutputSchemaFrom, d.SystemPrompt, d.UserTemplate, d.OutputFormat,
		d.OutputExample, d.ModelPreference, d.Repairs)
	for _, v := range d.Variants {
		write(v.ID, v.SystemPrompt, v.UserTemplate, v.OutputExample, v.OutputSchema, v.Modes, v.Models, v.Providers, v.Match,
			v.Default)
	}
	return hex.EncodeToString(h.Sum(nil))
}
