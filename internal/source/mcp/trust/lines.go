package trust

import (
	"slices"

	"callgate/tool"
)

// AcceptedLines returns the lines of a document that a human accepted; none when
// nothing was.
func (s *Store) AcceptedLines(key string) ([]string, error) {
	const op = "trust.AcceptedLines"
	if err := checkKey(op, key); err != nil {
		return nil, err
	}
	sv, err := s.current(op, key)
	if err != nil || sv.Launch == nil {
		return nil, err
	}
	return slices.Clone(sv.Launch.Line), nil
}

// AcceptLines takes lines in the place of those that were accepted, in the name of
// the human who was shown them. No lines take all back.
func (s *Store) AcceptLines(key string, lines []string, by string) error {
	if len(lines) > 0 {
		return s.AcceptLaunch(key, lines, by)
	}
	const op = "trust.AcceptLines"
	if err := checkKey(op, key); err != nil {
		return err
	}
	if by == "" {
		return tool.Errorf(op, tool.Invalid, "taking back what was accepted takes the name of who does it")
	}
	return s.update(op, key, func(sv *server) error {
		sv.Launch = nil
		return nil
	})
}
