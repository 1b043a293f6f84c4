package learned

// SetMost bounds what is kept in all, so that a test need not fill it.
func (s *Store) SetMost(n int) { s.most = n }
