package provider

import "strings"

// IsDefaultURL reports whether the base URL of an app file is the provider's own: then the user has chosen it
// by choosing the provider. It is true as well if the environment sets an address, because then the app
// file's is not used.
func IsDefaultURL(cfg Config, env func(string) string) bool {
	if cfg.BaseURL == "" {
		return true
	}
	p, err := find(cfg)
	if err != nil || p.baseURL == "" {
		return false
	}
	return strings.TrimRight(cfg.BaseURL, "/") == p.baseURL || env(BaseURLVariable(p.name)) != ""
}

// DefaultKey is the name of the variable, or of the stored secret, that a provider's key has by default; "" for
// a provider that needs none or that nobody knows.
func DefaultKey(cfg Config) string {
	p, err := find(cfg)
	if err != nil {
		return ""
	}
	return p.keyEnv
}
