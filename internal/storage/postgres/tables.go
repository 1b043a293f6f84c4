package postgres

import (
	"callgate/internal/document"
	"callgate/internal/storage/postgres/plainrows"
	"callgate/internal/storage/tables"
)

// Tables returns everything that is kept here for the node as plain rows, and what all nodes share.
func (db *DB) Tables() tables.Store { return &plainrows.Store{DB: db.DB, IsShared: document.IsShared} }

// Fits returns tables of no database: they know only what any of them could take.
func Fits() tables.Store { return &plainrows.Store{IsShared: document.IsShared} }
