package provider

import "strings"

// IsDefaultURL reports whether an address, as an app file gives it, is the provider's
// usual one: then the user has chosen it by choosing the provider. With the
// environment's own address nothing of the app file is asked at all.
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
