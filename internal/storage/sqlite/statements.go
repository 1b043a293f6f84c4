package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps what is prepared: of a small transaction, parsing its text is more than
// a third.
type statements struct {
	pool *sql.DB

	mu    sync.Mutex
	known map[string]*sql.Stmt
}

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, known: map[string]*sql.Stmt{}}
}

// prepare returns a prepared statement, which ends with the pool. There is one connection
// for writing, so nobody may prepare inside a transaction: it would wait for itself. The
// texts are few: what varies is an argument.
func (s *statements) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[query]; ok {
		return known, nil
	}
	made, err := s.pool.PrepareContext(ctx, query)
	if err == nil {
		s.known[query] = made
	}
	return made, err
}
