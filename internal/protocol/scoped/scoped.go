// Package scoped is how the protocol says whose a secret is.
package scoped

// Secret says whose a secret is. Left out: the kernel's.
type Secret struct {
	Scope string `json:"scope,omitempty"` // system_wide, per_app_shared, per_user, per_app_per_user
	App   string `json:"app,omitempty"`
	User  string `json:"user,omitempty"`
}
