package script

import (
	"go.starlark.net/starlark"
)

// What a value may be at most, where something looks through the whole of it.
const (
	maxNodes = 200_000
	maxDepth = 100
	maxBits  = 1 << 16 // of an int
)

// weight is how much there is in a value, counted as often as it is reached.
type weight struct {
	nodes, bytes, depth int
	replies             bool // there are some in it
}

// weigh counts what is in a value, and stops where it is too much.
func weigh(values ...starlark.Value) weight {
	var w weight
	for _, v := range values {
		w.add(v, 0)
	}
	return w
}

func (w weight) tooMuch() bool { return w.nodes > maxNodes || w.depth > maxDepth }

func (w *weight) add(v starlark.Value, depth int) {
	w.nodes++
	w.depth = max(w.depth, depth)
	if w.tooMuch() {
		return
	}
	switch v := v.(type) {
	case starlark.String:
		w.bytes += len(v) + 2
		return
	case starlark.Bytes:
		w.bytes += len(v) * 4
		return
	case starlark.Int:
		w.bytes += 8
		if _, small := v.Int64(); !small {
			w.bytes += v.BigInt().BitLen() / 3
		}
		return
	case *starlark.Dict:
		w.bytes += 8
		for k, e := range v.Entries() {
			w.add(k, depth+1)
			w.add(e, depth+1)
			if w.tooMuch() {
				return
			}
		}
		return
	case *reply:
		w.replies = true
		w.add(v.text, depth+1)
		w.add(v.data, depth+1)
		return
	case *record:
		w.add(v.value, depth+1)
		w.add(v.failure, depth+1)
		return
	}
	w.bytes += 16
	list, ok := v.(starlark.Iterable)
	if !ok {
		return
	}
	if n := starlark.Len(v); n > maxNodes {
		w.nodes += n
		return
	}
	if _, isRange := v.(starlark.Sequence); isRange && v.Type() == "range" {
		w.nodes += starlark.Len(v)
		w.bytes += 8 * starlark.Len(v)
		return
	}
	for e := range starlark.Elements(list) {
		w.add(e, depth+1)
		if w.tooMuch() {
			return
		}
	}
}

// size is about how many bytes a new value takes, without what it holds.
func size(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case starlark.Int:
		return 8
	case *reply:
		return 32
	case *starlark.Dict:
		return 600 + 100*v.Len()
	case *starlark.Set:
		return 600 + 100*v.Len()
	}
	if v.Type() == "range" {
		return 32
	}
	if n := starlark.Len(v); n > 0 {
		return 16 * n
	}
	return 16
}
