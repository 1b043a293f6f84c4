package apiclient

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"callgate/llm"
)

// RejectedParams remembers the parameters that a model does not accept: some servers reject
// stream_options, and many newer models a temperature. The zero value has none. It is safe for concurrent
// use.
//
// A request that was rejected for such a parameter is sent again without it, and later requests leave it
// out from the start. A parameter that the caller asked for is not left out silently: the response
// carries a warning.
type RejectedParams struct {
	mu    sync.Mutex
	names []string
}

// Has reports whether a parameter was rejected.
func (r *RejectedParams) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.names, name)
}

var unsupported = regexp.MustCompile(
	`(?i)unsupported|n[o']t (?:be )?(?:supported|support|permitted|allowed|accepted|accept)|` +
		`deprecated|unknown|unrecognized|unexpected|extra inputs|extra fields`)

// Learn reads the error of a request that carried the given parameters. It reports whether it found one of
// them to be the cause that was not known before: then the request is worth sending again.
func (r *RejectedParams) Learn(e *llm.Error, sent []string) bool {
	if e.Kind != llm.BadRequest || !unsupported.MatchString(e.Message) {
		return false
	}
	words := strings.FieldsFunc(e.Message, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range words { // the parameter named first is the cause
		if slices.Contains(sent, w) && !slices.Contains(r.names, w) {
			r.names = append(r.names, w)
			return true
		}
	}
	return false
}

// Params are the optional parameters of one request.
type Params struct {
	rejected *RejectedParams
	sent     []string
	warnings []string
}

// Rejected reports whether the model rejected a parameter before.
func (p *Params) Rejected(name string) bool { return p.rejected.Has(name) }

// Send records that the request carries a parameter that the model may reject.
func (p *Params) Send(name string) { p.sent = append(p.sent, name) }

// Warn adds a warning to the response.
func (p *Params) Warn(text string) { p.warnings = append(p.warnings, text) }

// Accepts reports whether the request may carry a parameter, and records that it does. For one that was
// rejected before it adds a warning that calls the parameter by the caller's name for it; a parameter
// that no caller asked for has no such name, and is left out silently.
func (p *Params) Accepts(name, callersName string) bool {
	if !p.Rejected(name) {
		p.Send(name)
		return true
	}
	if callersName != "" {
		p.Warn("the model does not accept " + callersName + "; it was left out")
	}
	return false
}
