package schema

import (
	"encoding/json"
	"errors"

	"callgate/tool"
)

// WithExample returns an error about arguments with one of a tool's own examples in
// place of the one that was made from the schema, if one is valid: its author knows what
// a right call looks like. Any other error is returned as it is.
func (s *Schema) WithExample(err error, examples []tool.Example) error {
	var e *tool.Error
	if !errors.As(err, &e) || e.Kind != tool.Invalid || len(e.Schema) == 0 {
		return err
	}
	for _, x := range examples {
		if s.accepts(x.Args) {
			out := *e
			out.Example = x.Args
			return &out
		}
	}
	return err
}

// accepts reports whether arguments are valid as they are.
func (s *Schema) accepts(args json.RawMessage) bool {
	_, err := s.Check(args, Exact)
	return err == nil
}
