package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"callgate/tool"
)

// redact makes the result what its asker may see: without secrets, without
// what its lane is not shown, and no larger than a model should be given.
func (d *Gate) redact(_ context.Context, p *callState) error {
	r := p.result
	if len(p.coercions) > 0 {
		r.Warnings = append(p.coercions[:len(p.coercions):len(p.coercions)], r.Warnings...)
	}
	if !p.background {
		r.Warnings = append(r.Warnings, d.doubts.take(noticeKeyOf(p.call.Principal, p.caller.Workspace))...)
	}
	d.scrub(r)
	runtime := &p.tool.Runtime
	switch {
	case !runtime.Exposure.ShownTo(p.call.Principal.Lane):
		d.dropPayload(r, fmt.Sprintf("the result is not shown to the %s lane", p.call.Principal.Lane))
	case runtime.PromptMask:
		d.dropPayload(r, "the result is masked; the summary is all that is shown")
	default:
		limit := runtime.MaxResult
		if limit == 0 {
			limit = d.Limits.Result
		}
		d.truncate(r, limit)
	}
	return nil
}

// scrub takes secrets out of everything a model or a log will see.
func (d *Gate) scrub(r *tool.Result) {
	r.Summary = d.Secrets.ScrubString(r.Summary)
	for i, w := range r.Warnings {
		r.Warnings[i] = d.Secrets.ScrubString(w)
	}
	for i := range r.Content {
		r.Content[i].Text = d.Secrets.ScrubString(r.Content[i].Text)
		r.Content[i].Data = d.Secrets.Scrub(r.Content[i].Data)
		r.Content[i].URI = d.Secrets.ScrubString(r.Content[i].URI)
	}
	if len(r.Data) > 0 {
		if r.Data = d.Secrets.Scrub(r.Data); !json.Valid(r.Data) {
			r.Data, _ = json.Marshal(string(r.Data))
		}
	}
	if r.Error != nil {
		r.Error = d.scrubError(r.Error)
	}
}

// scrubError takes secrets out of an error, and its cause off it.
func (d *Gate) scrubError(e *tool.Error) *tool.Error {
	return d.Secrets.ScrubError(e)
}

// dropPayload keeps the payload as an artifact and leaves only the summary.
func (d *Gate) dropPayload(r *tool.Result, why string) {
	if r.Status != tool.Success || len(r.Data) == 0 && len(r.Content) == 0 {
		return
	}
	d.storePayload(r)
	r.Data, r.Content = nil, nil
	r.Warnings = append(r.Warnings, why)
}

// truncate keeps a result within limit: the whole goes to the artifact store, the
// model is given its head and its tail, and the way to the rest.
func (d *Gate) truncate(r *tool.Result, limit int) {
	size := len(r.Data)
	for _, c := range r.Content {
		size += len(c.Text)
	}
	if size <= limit {
		return
	}
	kept, text, room := splitContent(r, limit)
	d.storePayload(r)
	if len(r.Data) > limit/4 {
		r.Data = nil
	}
	r.Content = kept
	if text != "" {
		r.Content = append(r.Content, tool.Text(headTail(text, room-len(r.Data))))
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("the result has %d bytes; this is its head and tail, the whole is %s", size, r.ArtifactRef))
}

// splitContent parts what can be kept whole from the text that must be cut, and tells
// how much room that has: pictures and sounds are no text, and of the words of
// things with an address half the limit is kept, first come first served.
func splitContent(r *tool.Result, limit int) (kept []tool.Content, text string, room int) {
	if len(r.Content) == 0 {
		return nil, string(r.Data), limit
	}
	words, most := 0, limit/2
	for _, c := range r.Content {
		if c.Type == "text" || words+len(c.Text) > most {
			text += c.Text
			if c.Text = ""; len(c.Data) == 0 {
				continue
			}
		}
		words += len(c.Text)
		kept = append(kept, c)
	}
	return kept, text, limit - words
}

// storePayload stores the payload: the text when there is any, else the data.
func (d *Gate) storePayload(r *tool.Result) {
	payload := []byte(r.Data)
	if len(r.Content) > 0 {
		payload = nil
		for _, c := range r.Content {
			payload = append(payload, c.Text...)
			payload = append(payload, c.Data...)
		}
	}
	ref, err := d.Artifacts.Put(context.Background(), payload)
	if err != nil {
		r.Warnings = append(r.Warnings, "the whole result could not be kept: "+err.Error())
		return
	}
	r.ArtifactRef = ref
}

// headTail keeps two thirds of limit from the start and one third from the end.
func headTail(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit*2/3], text[len(text)-limit/3:]
	for len(head) > 0 && !utf8.ValidString(head[max(0, len(head)-utf8.UTFMax):]) && !utf8.RuneStart(text[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", head, len(text)-len(head)-len(tail), tail)
}
