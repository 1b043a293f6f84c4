package wire

import (
	"callgate/internal/modeluse"
	"callgate/internal/protocol"
)

// ModelUse converts how a model did at a tool.
func ModelUse(r modeluse.Row) protocol.ModelUse { return protocol.ModelUse(r) }
