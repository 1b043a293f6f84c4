package redaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/internal/resulttext"
	"callgate/tool"
)

// Cutting is how a result that is too long is cut.
type Cutting struct {
	Call     string // the call whose result it is: by its ID the rest is read
	KeepTail bool   // the end is shown too, as that of a command's output
}

// Truncate keeps a result within a limit. The text becomes an artifact, whole; of its
// lines the reader is shown the first that fit, and told which they are, of how many,
// and how to read the others. What the tool itself told of a cut is the last line of
// the artifact.
func (w *Redactor) Truncate(r *tool.Result, limit int, how Cutting) {
	if limit == 0 {
		limit = w.Limit
	}
	size := len(r.Data)
	for _, c := range r.Content {
		size += len(c.Text)
	}
	if size <= limit {
		return
	}
	kept, text, left := splitContent(r, limit)
	if len(r.Content) > 0 && len(r.Data) > limit/4 && len(text) <= left { // the data are what is too long
		w.store(r, []byte(dataText(r.Data)))
		r.Data = nil
		return
	}
	if line := resulttext.CutLine(r.Cut, nil); line != "" {
		text = strings.TrimSuffix(text, "\n") + "\n" + line + "\n"
	}
	r.ArtifactRef = ""
	w.store(r, []byte(text))
	if len(r.Data) > limit/4 {
		r.Data = nil
	}
	shown, cut := cutLines(text, left-len(r.Data), how.KeepTail)
	if r.Cut = cut; cut != nil && r.ArtifactRef != "" {
		cut.Tool = resulttext.ArtifactReader
		cut.Next = fmt.Sprintf("ref=%s offset=%d", how.Call, cut.Last+1)
		if cut.Unit != lines {
			cut.Next = "ref=" + how.Call
		}
	}
	if r.Content = kept; shown != "" {
		r.Content = append(r.Content, tool.Text(shown))
	}
}

const lines = "lines"

// begin returns the beginning of a text, within a limit.
func begin(text string, limit int) string { return tool.TruncateTo(text, max(limit, len("…"))) }

// cutLines returns the lines of a text that fit a limit, and which they are; the whole
// text and nil if it fits. Of a line that is longer than half of the limit, its
// beginning is shown.
func cutLines(text string, limit int, keepTail bool) (string, *tool.Cut) {
	if len(text) <= limit {
		return text, nil
	}
	all := resulttext.Lines(text)
	if len(all[0]) > limit {
		head := begin(text, limit)
		return head, &tool.Cut{Unit: "bytes", Last: len(head) - len("…"), Total: len(text)}
	}
	cut := &tool.Cut{Unit: lines, Total: len(all)}
	if resulttext.Folded(text) {
		cut.Advice = fmt.Sprintf("a line of more than %d bytes counts as several", resulttext.MaxLine)
	}
	tail := len(all)
	if keepTail {
		tail = resulttext.Tail(all, limit/2)
		limit -= len(strings.Join(all[tail:], ""))
	}
	cut.Last = resulttext.Head(all[:tail], limit)
	shown := strings.Join(all[:cut.Last], "")
	if cut.Last < tail && len(shown) < limit/2 {
		shown += begin(all[cut.Last], limit-len(shown))
	}
	if tail < len(all) {
		cut.Tail = tail + 1
		shown = fmt.Sprintf("%s\n[lines %d–%d are left out]\n%s",
			strings.TrimSuffix(shown, "\n"), cut.Last+1, tail, strings.Join(all[tail:], ""))
	}
	return shown, cut
}

// splitContent separates content that is kept whole from text to truncate, and
// returns the bytes left for text. Pictures and sounds are no text; of the text
// of things with an address, half the limit is kept, first come first served.
func splitContent(r *tool.Result, limit int) (kept []tool.Content, text string, left int) {
	if len(r.Content) == 0 {
		return nil, dataText(r.Data), limit
	}
	used, maxUsed := 0, limit/2
	for _, c := range r.Content {
		if c.Type == "text" || used+len(c.Text) > maxUsed {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			text += c.Text
			if c.Text = ""; len(c.Data) == 0 {
				continue
			}
		}
		used += len(c.Text)
		kept = append(kept, c)
	}
	return kept, text, limit - used
}

// dataText returns data as text with lines: a string as what it says, the rest
// indented.
func dataText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var b bytes.Buffer
	if bytes.ContainsRune(data, '\n') || json.Indent(&b, data, "", " ") != nil {
		return string(data)
	}
	return b.String()
}
