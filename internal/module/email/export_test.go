package email

import (
	"crypto/x509"

	"callgate/internal/module"
	"callgate/internal/netguard"
)

// ModuleWith returns the module with parts of the outside world replaced.
func ModuleWith(roots *x509.CertPool, r netguard.Resolver) module.Module {
	return moduleWith(options{roots, r})
}
