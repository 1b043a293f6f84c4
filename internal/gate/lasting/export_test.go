package lasting

import "context"

// Flush writes the uses that are not written yet.
func (s *Store) Flush(ctx context.Context) error { return s.flush(ctx) }
