package secret

import "sync"

// Stream takes secrets out of a text that comes in pieces, however it is cut.
//
// # Law
//
// What has been written comes out in order, without the secrets that Scrub
// would have found in the whole of it. Only an end that could be the beginning
// of a secret is held back, so never more than the longest of them, as it is
// written there, and most often nothing; the rest comes out at once. A value
// that becomes known while a stream runs is taken out of all that comes out
// from then on.
type Stream struct {
	vault *Vault
	emit  func([]byte)

	mu   sync.Mutex
	held []byte
	told int // so much of held is of a secret that was told of
}

// Stream makes a stream that passes on what it is given. emit must not keep
// what it is handed, and is called by one writer at a time.
func (v *Vault) Stream(emit func([]byte)) *Stream { return &Stream{vault: v, emit: emit} }

// Write takes the next piece. It never fails.
func (s *Stream) Write(piece []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(piece, false)
	return len(piece), nil
}

// Close passes on what was held back. The stream may be written to again, and
// then begins anew.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass(nil, true)
	return nil
}

func (s *Stream) pass(piece []byte, last bool) {
	all := piece
	if len(s.held) > 0 {
		all = append(s.held, piece...)
	}
	spans, open := find(s.vault.scrubber(), all, !last)
	if len(spans) == 0 && s.told == 0 && open == len(all) {
		s.held = s.held[:0]
		s.say(all)
		return
	}
	out, told := mask(nil, all, spans, s.told, open)
	s.told = max(0, told-open)
	s.held = append([]byte(nil), all[open:]...)
	s.say(out)
}

func (s *Stream) say(text []byte) {
	if len(text) > 0 {
		s.emit(text)
	}
}
