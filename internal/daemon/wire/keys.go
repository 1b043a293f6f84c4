package wire

import (
	"callgate/internal/kernel/signatures"
	"callgate/internal/protocol"
	"callgate/internal/signing"
)

// Key describes a signing key.
func Key(k signatures.Info) protocol.Key {
	out := protocol.Key{Name: k.Name, Key: k.Key, Trusted: k.Trusted, Own: k.Own, Since: k.Since}
	if key, err := signing.ParseKey(k.Key); err == nil {
		out.ID = key.ID()
	}
	return out
}
