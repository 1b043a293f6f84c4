package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minScrubbed is the shortest value that is scrubbed: anything shorter would
// tear holes into ordinary text.
const minScrubbed = 8

// scrubber replaces values in one pass. A nil scrubber changes nothing.
type scrubber struct {
	needles  [][]byte // the quick test: is any of these there at all
	replacer *strings.Replacer
}

func newScrubber(known map[string]string) *scrubber {
	if len(known) == 0 {
		return nil
	}
	type form struct{ text, name string }
	var forms []form
	for value, name := range known {
		for _, text := range encodings(value) {
			forms = append(forms, form{text, name})
		}
	}
	// Longest first, so that a value inside another does not win its place.
	slices.SortFunc(forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	s := &scrubber{}
	var pairs []string
	for _, f := range forms {
		s.needles = append(s.needles, []byte(f.text))
		pairs = append(pairs, f.text, "[secret "+f.name+"]")
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

// encodings lists the ways a value shows up in text: plain, inside a JSON
// string, in a URL, and in base64 at each of the three alignments (cut to what
// does not depend on its neighbours).
func encodings(value string) []string {
	forms := []string{value}
	for _, escapeHTML := range []bool{true, false} {
		var quoted strings.Builder
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(escapeHTML)
		if enc.Encode(value) == nil {
			forms = append(forms, strings.Trim(quoted.String(), "\"\n"))
		}
	}
	forms = append(forms, url.QueryEscape(value), url.PathEscape(value))
	for shift := range 3 {
		padded := append(make([]byte, shift), value...)
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString(padded)
			head := (shift*8 + 5) / 6 // characters that also hold bits of what stands before
			tail := len(text)
			if (shift+len(value))%3 != 0 {
				tail-- // the last character also holds bits of what follows
			}
			if tail-head >= minScrubbed {
				forms = append(forms, text[head:tail])
			}
		}
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

func (s *scrubber) bytes(text []byte) []byte {
	if s == nil || !slices.ContainsFunc(s.needles, func(n []byte) bool { return bytes.Contains(text, n) }) {
		return text
	}
	return []byte(s.replacer.Replace(string(text)))
}

func (s *scrubber) string(text string) string {
	if s == nil || text == "" {
		return text
	}
	return s.replacer.Replace(text)
}
