package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/secret/scope"
	"callgate/tool"
)

// Wire is how an operation is sent, in words for a human who compares it with what was accepted before.
// Long texts are cut in it; the digest is of all.
type Wire struct {
	Server      string            `json:"server"`
	Method      string            `json:"method"`
	Path        string            `json:"path"`
	Arguments   map[string]string `json:"arguments,omitempty"` // where each goes
	Body        string            `json:"body,omitempty"`
	Credentials []string          `json:"credentials,omitempty"`
	Digest      string            `json:"digest"`
}

// WireOf says how an operation is sent; nil for a tool that is none.
func WireOf(t *tool.Tool) *Wire {
	r, ok := t.Handler.(*request)
	if !ok {
		return nil
	}
	w := &Wire{
		Server: r.base.String(), Method: r.method, Path: tool.TruncateTo(r.path, 500), Body: r.body.String(),
		Digest: r.digest(), Arguments: map[string]string{},
	}
	for _, p := range r.params {
		w.Arguments[p.arg] = p.String()
	}
	for _, p := range r.auth.parts {
		w.Credentials = append(w.Credentials, "the secret "+scope.InWords(p.secret, true)+" for "+p.String())
	}
	return w
}

// digest is of all that decides which request is made of some arguments. The order of the parameters
// in the document decides nothing.
func (r *request) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", r.base, r.method, r.path)
	params := slices.SortedFunc(slices.Values(r.params), func(a, b parameter) int { return strings.Compare(a.arg, b.arg) })
	for _, p := range params {
		fmt.Fprintf(h, "parameter %q %q %q %q %v %v %v\n", p.arg, p.name, p.in, p.style, p.explode, p.reserved, p.asJSON)
	}
	fmt.Fprintf(h, "body %d %q %q %q %v\n", r.body.kind, r.body.mediaType, r.body.arg, r.body.fields, r.body.required)
	for _, p := range r.auth.parts {
		fmt.Fprintf(h, "credential %q %d %q %q %q\n", p.scheme, p.kind, p.in, p.name, scope.InWords(p.secret, false))
	}
	fmt.Fprintf(h, "wanted %q\n", r.auth.wanted)
	return hex.EncodeToString(h.Sum(nil))
}

// String says in words where a parameter goes.
func (p parameter) String() string {
	text := fmt.Sprintf("the %s parameter %s", p.in, tool.Truncate(p.name))
	if p.asJSON {
		return text + ", as JSON"
	}
	text += ", in the style " + p.style
	if p.explode {
		text += ", one by one"
	}
	if p.reserved {
		text += ", reserved characters as they are"
	}
	return text
}

// String says in words what a body is; "": there is none.
func (b *payload) String() string {
	if b.kind == noBody {
		return ""
	}
	text := tool.Truncate(b.mediaType) + " of the argument " + b.arg
	if b.arg == "" {
		text = tool.Truncate(b.mediaType) + " of the arguments " + tool.TruncateTo(strings.Join(b.fields, ", "), 1000)
	}
	return text
}
