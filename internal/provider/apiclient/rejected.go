package apiclient

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/llm"
)

// RejectedParams remembers the parameters that a model does not take: some refuse
// stream_options, many of the newer ones a temperature. The zero value takes
// everything. It is safe for concurrent use.
//
// A request which is refused for such a parameter is sent again without it, and
// the ones after it do without from the start. A parameter that the caller asked
// for is not dropped in silence: the answer carries a warning.
type RejectedParams struct {
	mu    sync.Mutex
	names []string
}

// Has reports whether a parameter is refused.
func (s *RejectedParams) Has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.names, name)
}

var unsupported = regexp.MustCompile(`(?i)unsupported|n[o']t (?:be )?(?:supported|support|permitted|allowed|accepted|accept)|deprecated|unknown|unrecognized|unexpected|extra inputs|extra fields`)

// Learn reads a refusal. It reports whether a parameter among those sent was the
// cause and was not known to be refused: then the request is worth sending again.
func (s *RejectedParams) Learn(e *llm.Error, sent []string) bool {
	if e.Kind != llm.BadRequest || !unsupported.MatchString(e.Message) {
		return false
	}
	words := strings.FieldsFunc(e.Message, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range words { // the first one that is named is the culprit
		if slices.Contains(sent, w) && !slices.Contains(s.names, w) {
			s.names = append(s.names, w)
			return true
		}
	}
	return false
}
