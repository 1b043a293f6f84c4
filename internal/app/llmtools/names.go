package llmtools

import (
	"strings"
	"unicode"
)

// otherNames are what other programs call the keys of a definition.
var otherNames = map[string]string{
	"preferred_model": "preferred", "fallback_models": "fallbacks", "supported_models": "models",
	"supported_providers": "providers", "provider_match": "match", "is_default": "default",
}

// snake writes userTemplate as user_template.
func snake(key string) string {
	var out strings.Builder
	for _, c := range key {
		if unicode.IsUpper(c) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}
