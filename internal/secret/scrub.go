package secret

import (
	"cmp"
	"slices"
)

// scrubber replaces the known values in texts. It is immutable; a nil one leaves
// texts as they are.
type scrubber struct{ *multiMatcher }

func newScrubber(known map[string]string) *scrubber {
	var forms []encodedForm
	for value, name := range known {
		forms = append(forms, formsOf(name, value)...)
	}
	if len(forms) == 0 {
		return nil
	}
	// Of two secrets with one value, the same name is shown every time.
	slices.SortFunc(forms, func(a, b encodedForm) int { return cmp.Compare(a.name, b.name) })
	return &scrubber{newMatcher(forms)}
}

func (s *scrubber) bytes(t []byte) []byte {
	spans, _ := find(s, t, false)
	if len(spans) == 0 {
		return t
	}
	out, _ := mask(make([]byte, 0, len(t)), t, spans, 0, len(t))
	return out
}

func (s *scrubber) string(t string) string {
	spans, _ := find(s, t, false)
	if len(spans) == 0 {
		return t
	}
	out, _ := mask(make([]byte, 0, len(t)), t, spans, 0, len(t))
	return string(out)
}

// find returns the parts of a text that are secrets, in order and apart from
// each other. When there is more to come, it also returns where something
// begins that this could make a secret; else open is the length of the text.
func find[T text](s *scrubber, t T, more bool) (spans []span, open int) {
	if s == nil {
		return nil, len(t)
	}
	var layers []*layer
	outermost := func(at int) int {
		for _, l := range slices.Backward(layers) {
			at = l.begin(at)
		}
		return at
	}
	open = scan(s.multiMatcher, t, more, func(f span) { spans = append(spans, f) })
	next, cut := unescape(t, allKinds, more)
	open = min(open, cut)
	for next != nil {
		layers = append(layers, next)
		begun := scan(s.multiMatcher, next.text, more, func(f span) {
			for _, l := range slices.Backward(layers) {
				f = l.outer(f)
			}
			spans = append(spans, f)
		})
		text := next.text
		if next = nil; len(layers) < depth {
			next, cut = unescape(text, allKinds, more)
			begun = min(begun, cut)
		}
		if more && begun < len(text) {
			open = min(open, outermost(begun))
		}
	}
	if !more || open == len(t) {
		return joined(spans), len(t)
	}
	return joined(spans), whole(layers, open)
}

// whole moves a place to the beginning of the escape that it is inside of, in
// whatever layer, so that the text reads the same from there on.
func whole(layers []*layer, at int) int {
	for _, l := range layers {
		at = l.inner(at)
	}
	for _, l := range slices.Backward(layers) {
		at = l.begin(at)
	}
	return at
}

// joined puts parts in order and makes one of those that overlap.
func joined(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.name, b.name))
	})
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.from < last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// mask appends t up to end to out, with names in the place of secrets. Secrets
// that begin before masked were named already. It returns the end of the last
// secret that is named now.
func mask[T text](out []byte, t T, spans []span, masked, end int) ([]byte, int) {
	for _, s := range spans {
		if s.from >= end {
			break
		}
		if s.from >= masked {
			out = append(out, t[masked:s.from]...)
			out = append(out, "[secret "...)
			out = append(out, s.name...)
			out = append(out, ']')
		}
		masked = max(masked, s.to)
	}
	if masked < end {
		out = append(out, t[masked:end]...)
	}
	return out, masked
}
