package channeltest

import (
	"context"
	"slices"
	"sync"

	"callgate/internal/channel"
)

// State keeps a receiver's memory in memory. The zero value has nothing.
type State struct {
	mu   sync.Mutex
	data []byte
}

var _ channel.State = (*State)(nil)

// Load returns what was saved last.
func (s *State) Load(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.data), nil
}

// Save keeps data.
func (s *State) Save(_ context.Context, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = slices.Clone(data)
	return nil
}
