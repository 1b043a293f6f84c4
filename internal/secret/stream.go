package secret

import "sync"

// Stream scrubs a text that comes in pieces, however it is divided.
//
// # Law
//
// What was written is passed on in order, without the secrets that Scrub would
// have found in the whole text. Only an end that could be the beginning of a
// secret is held back: never more than the longest secret as it is written
// there, and most often nothing. A value that becomes known while a stream runs
// is scrubbed from all that is passed on later.
type Stream struct {
	vault *Vault
	emit  func([]byte)

	mu     sync.Mutex
	held   []byte
	masked int // bytes of held that belong to a secret which was named already
}

// Stream returns a stream that passes scrubbed text to emit, which must not keep
// it and is called by one writer at a time.
func (v *Vault) Stream(emit func([]byte)) *Stream { return &Stream{vault: v, emit: emit} }

// Write takes the next piece. It never fails.
func (s *Stream) Write(piece []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(piece, false)
	return len(piece), nil
}

// Close passes on what was held back. A stream that is written to again begins
// anew.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(nil, true)
	return nil
}

func (s *Stream) write(piece []byte, last bool) {
	all := piece
	if len(s.held) > 0 {
		all = append(s.held, piece...)
	}
	spans, open := find(s.vault.scrubber(), all, !last)
	if len(spans) == 0 && s.masked == 0 && open == len(all) {
		s.held = s.held[:0]
		s.passOn(all)
		return
	}
	out, masked := mask(nil, all, spans, s.masked, open)
	s.masked = max(0, masked-open)
	s.held = append([]byte(nil), all[open:]...)
	s.passOn(out)
}

func (s *Stream) passOn(text []byte) {
	if len(text) > 0 {
		s.emit(text)
	}
}
