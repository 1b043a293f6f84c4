package node

import (
	"callgate/internal/module/rag/library"
	"callgate/internal/storage/postgres/sharedbases"
)

// KnowledgeBases keeps the knowledge bases that the nodes share; nil: the kernel is alone.
func KnowledgeBases(n *Node) library.SharedBases {
	if n.shared == nil {
		return nil
	}
	return sharedbases.New(n.shared.db.DB)
}
