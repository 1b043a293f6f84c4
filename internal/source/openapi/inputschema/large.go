package inputschema

import (
	"fmt"
	"reflect"
)

// largeBytes is the size from which a schema is converted once, however many operations use it.
const largeBytes = 4 << 10

// stepWork is what following a reference counts as work, in bytes.
const stepWork = 20

// large is the schemas that are large and that no reference of the document names, by references of
// our own.
type large struct {
	byRef map[string]map[string]any
	refs  map[uintptr]string // by the place of the map, which byRef keeps
}

func newLarge() large {
	return large{byRef: map[string]map[string]any{}, refs: map[uintptr]string{}}
}

// Shared returns what is to stand in an operation for a schema of the document: a reference if it is large.
func (s *Schemas) Shared(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	place := reflect.ValueOf(m).Pointer()
	ref, known := s.large.refs[place]
	if !known {
		if sizeOf(m) <= largeBytes {
			return v
		}
		ref = fmt.Sprintf("#callgate/large_%d", len(s.large.refs)+1)
		s.large.refs[place], s.large.byRef[ref] = ref, m
	}
	return map[string]any{"$ref": ref}
}

// Work is about how many bytes of schemas were gone through, so that who converts many can end in time.
func (s *Schemas) Work() int { return s.work }
