package schema

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"callgate/internal/gate/schema/limits"
	"callgate/internal/gate/schema/walk"
)

// spliceFrom is the size from which on defaults are written into the text of the
// arguments. To write a long text anew takes several times its size.
const spliceFrom = 64 << 10

// namesOf returns the names of a large object, before defaults are filled in.
func (in input) namesOf() map[string]bool {
	object, ok := in.value.(map[string]any)
	if !ok || len(in.args) < spliceFrom || len(object) > 1000 {
		return nil
	}
	names := make(map[string]bool, len(object))
	for name := range object {
		names[name] = true
	}
	return names
}

// splice returns the text of the arguments with the defaults that were filled in added
// at its end, or nil where that is not all that was added. before are the names that
// the object had.
func (in input) splice(r *repairRun, before map[string]bool) json.RawMessage {
	object, ok := r.value.(map[string]any)
	if !ok || before == nil {
		return nil
	}
	weight, more := 0, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if before[name] {
			continue
		}
		if walk.IsContainer(object[name]) { // it may have been filled in too
			return nil
		}
		pair, err := limits.Encode(map[string]any{name: object[name]})
		if err != nil {
			return nil
		}
		if len(before)+len(more) > 0 {
			more = append(more, ',')
		}
		more = append(more, pair[1:len(pair)-1]...)
		weight += weightOf(object[name])
	}
	if weight != r.added { // some are further inside
		return nil
	}
	text := bytes.TrimSpace(in.args)
	if len(text) == 0 || text[len(text)-1] != '}' {
		return nil
	}
	return slices.Concat(text[:len(text)-1], more, []byte("}"))
}
