// Package redaction takes out of a result what its reader may not see, or should
// not be given whole. Law: nothing that it leaves out is lost: it is stored as an
// artifact first, and the result says where; what could not be stored is said too.
package redaction

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/artifact"
	"callgate/internal/secret"
	"callgate/tool"
)

// Redactor redacts results. All fields are required.
type Redactor struct {
	Artifacts *artifact.Store
	Secrets   *secret.Vault
	Limit     int // bytes of a result whose tool names no limit
}

// CheckArtifact takes back a handler's own ref to an artifact that nobody can read: a
// model would be told that something was kept which was not.
func (w *Redactor) CheckArtifact(r *tool.Result) {
	if r.ArtifactRef == "" {
		return
	}
	found, err := w.Artifacts.Open(context.Background(), r.ArtifactRef)
	if err == nil {
		_ = found.Close()
		return
	}
	r.ArtifactRef = ""
	r.Warnings = append(r.Warnings, "the tool names an artifact that is not here; nothing was kept under that name")
}

// Scrub takes secrets out of every text of a result, and adds a warning if there were any. It changes nothing
// that the tool keeps: slices and pointers of r are copied first.
func (w *Redactor) Scrub(r *tool.Result) {
	found := false
	scrubText := func(at *string) {
		clean := w.Secrets.ScrubText(*at).String()
		found = found || clean != *at
		*at = clean
	}
	for _, id := range []*string{&r.Call, &r.Approval, &r.ArtifactRef} {
		clean := w.Secrets.ScrubString(*id)
		found = found || clean != *id
		*id = clean
	}
	if w.Secrets.ScrubString(string(r.Status)) != string(r.Status) {
		found, r.Status = true, tool.Failure
	}
	scrubText(&r.Summary)
	r.Warnings = slices.Clone(r.Warnings)
	for i := range r.Warnings {
		scrubText(&r.Warnings[i])
	}
	r.Content = slices.Clone(r.Content)
	for i := range r.Content {
		found = w.scrubContent(&r.Content[i]) || found
	}
	if len(r.Data) > 0 {
		data := w.Secrets.ScrubPayload(r.Data)
		found = found || !bytes.Equal(data, r.Data)
		if r.Data = data; !json.Valid(r.Data) {
			r.Data, _ = json.Marshal(string(r.Data))
		}
	}
	if r.Cut != nil {
		cut := *r.Cut
		for _, text := range []*string{&cut.Unit, &cut.Next, &cut.Tool, &cut.Advice} {
			scrubText(text)
		}
		r.Cut = &cut
	}
	if r.Error != nil {
		r.Error = w.Secrets.ScrubError(r.Error)
	}
	r.Attempts = slices.Clone(r.Attempts)
	for i := range r.Attempts { // they hold words of models and of providers
		a := &r.Attempts[i]
		for _, text := range []*string{&a.Model, &a.Outcome, &a.Error} {
			scrubText(text)
		}
	}
	if found {
		r.Warnings = append(r.Warnings, secret.TakenOut)
	}
}

// scrubContent takes secrets out of one piece of content, and reports whether there were any. Servers and
// programs choose its types too.
func (w *Redactor) scrubContent(c *tool.Content) (found bool) {
	old := *c
	c.Type, c.MIME, c.URI = w.Secrets.ScrubString(c.Type), w.Secrets.ScrubString(c.MIME), w.Secrets.ScrubString(c.URI)
	c.Text, c.Data = w.Secrets.ScrubPayloadString(c.Text), w.Secrets.Scrub(c.Data)
	return c.Type != old.Type || c.MIME != old.MIME || c.URI != old.URI || c.Text != old.Text ||
		!bytes.Equal(c.Data, old.Data)
}

// DropPayload stores the payload as an artifact and leaves only the summary, or
// less where that repeats the payload. A failure keeps its error.
func (w *Redactor) DropPayload(r *tool.Result, repeated bool, why string) {
	if len(r.Data) == 0 && len(r.Content) == 0 {
		return
	}
	w.storePayload(r)
	r.Data, r.Content = nil, nil
	r.Warnings = append(r.Warnings, why)
	if repeated {
		r.Summary = "done; the answer is not shown"
		if r.Status != tool.Success {
			r.Summary = "failed; the answer is not shown"
		}
		if r.Error != nil {
			r.Error = &tool.Error{Op: r.Error.Op, Kind: r.Error.Kind, Message: r.Summary}
		}
	}
}

// RepeatsPayload reports whether the summary only repeats the payload, as the one
// does that is made for a tool that writes none.
func RepeatsPayload(r *tool.Result) bool {
	const telling = 16 // bytes of the payload that are no coincidence
	summary := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(r.Summary), "…"))
	repeats := func(payload string) bool {
		return strings.HasPrefix(strings.TrimSpace(payload), summary) ||
			len(summary) >= telling && strings.Contains(payload, summary)
	}
	if summary == "" {
		return false
	}
	for _, c := range r.Content {
		if repeats(c.Text) {
			return true
		}
	}
	return repeats(string(r.Data))
}

// storePayload stores the payload: the text when there is any, else the data.
func (w *Redactor) storePayload(r *tool.Result) {
	payload := []byte(r.Data)
	if len(r.Content) > 0 {
		payload = nil
		for _, c := range r.Content {
			payload = append(payload, c.Text...)
			payload = append(payload, c.Data...)
		}
	}
	w.store(r, payload)
}

// store stores what a result does not show.
func (w *Redactor) store(r *tool.Result, payload []byte) {
	ref, err := w.Artifacts.Put(context.Background(), payload)
	if err != nil {
		r.Warnings = append(r.Warnings, "the whole result could not be stored: "+err.Error())
		return
	}
	r.ArtifactRef = ref
}

// Lane names who is not shown a result.
func Lane(name string) string {
	if name == "" {
		return "to anybody"
	}
	return "to the " + name + " lane"
}
