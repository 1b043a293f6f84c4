package translate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

const (
	maxPicture = 5 << 20  // bytes of an image, as the strictest of the model APIs has it
	maxInline  = 10 << 20 // bytes of sounds and other things in one result
	maxWords   = 2 << 10  // bytes of a server's words in an error
	maxExact   = 1 << 53  // the largest whole number that arrives as it was sent
	maxLine    = 120      // bytes of a text that is its own summary
	maxLink    = 64 << 10 // bytes told of a link
)

// StoreFunc stores what no model can read, and returns its ref.
type StoreFunc func(ctx context.Context, data []byte) (ref string, err error)

// Result turns what a server's tool answered into a result. What the model
// can read becomes content, structured content becomes data, other bytes are
// kept aside; a failure keeps the server's words. Metadata is dropped.
func Result(ctx context.Context, name string, res *sdk.CallToolResult, keep StoreFunc) *tool.Result {
	t := resultBuilder{ctx: ctx, keep: keep, result: &tool.Result{Status: tool.Success}}
	texts := 0
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok && text.Text != "" {
			texts++
		}
		t.content(c)
	}
	t.structured(res.StructuredContent, texts)
	r := t.result
	if res.IsError {
		t.failed(name)
		return r
	}
	r.Summary = summary(name, r)
	return r
}

// resultBuilder collects one result.
type resultBuilder struct {
	ctx    context.Context
	keep   StoreFunc
	result *tool.Result
	inline int             // bytes of what is neither text nor image
	text   strings.Builder // all text, for an error
}

func (t *resultBuilder) say(text string) {
	if text == "" {
		return
	}
	t.add(tool.Text(text))
}

// add takes a piece of content over, with its words.
func (t *resultBuilder) add(c tool.Content) {
	t.result.Content = append(t.result.Content, c)
	text := c.Text
	if t.text.Len() < maxWords {
		if t.text.Len() > 0 {
			t.text.WriteByte('\n')
		}
		t.text.WriteString(tool.TruncateTo(text, maxWords))
	}
}

func (t *resultBuilder) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		t.say(c.Text)
	case *sdk.ImageContent:
		t.bytes("image", "", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		t.bytes("audio", "", c.MIMEType, c.Data)
	case *sdk.EmbeddedResource:
		t.resource(c.Resource)
	case *sdk.ResourceLink:
		t.link(c)
	default: // what only belongs in other places of the protocol
		t.say(string(encode(c)))
	}
}

func (t *resultBuilder) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		t.bytes("resource", r.URI, r.MIMEType, r.Blob)
	case r.URI != "":
		t.add(tool.Resource(r.URI, r.MIMEType, r.Text))
	default:
		t.say(r.Text)
	}
}

func (t *resultBuilder) link(l *sdk.ResourceLink) {
	line := "resource " + l.URI
	for _, part := range []string{l.Title, l.Name, l.MIMEType, l.Description} {
		if part != "" && !strings.Contains(line, part) {
			line += ", " + part
		}
	}
	if l.Size != nil {
		line += fmt.Sprintf(", %d bytes", *l.Size)
	}
	t.say(tool.TruncateTo(line, maxLink))
}

// bytes shows a picture to the model. Other things are kept aside, and words say
// where; they go along for those who can use them, within bounds.
func (t *resultBuilder) bytes(kind, uri, mime string, data []byte) {
	what := kind
	if uri != "" {
		what += " " + tool.Truncate(uri)
	}
	if mime != "" {
		what += ", " + tool.Truncate(mime)
	}
	what += fmt.Sprintf(", %d bytes", len(data))
	if strings.HasPrefix(mime, "image/") && len(data) > 0 && len(data) <= maxPicture {
		picture := tool.Image(mime, data)
		picture.URI = uri
		t.result.Content = append(t.result.Content, picture)
		return
	}
	if t.keep == nil {
		t.piece(kind, uri, mime, data, "["+what+": left out]")
		t.result.Warnings = append(t.result.Warnings, "the server sent "+what+", which cannot be shown; it is left out")
		return
	}
	ref, err := t.keep(t.ctx, data)
	if err != nil {
		t.piece(kind, uri, mime, data, "["+what+": left out]")
		t.result.Warnings = append(t.result.Warnings, "the server sent "+what+", which could not be kept: "+err.Error())
		return
	}
	if t.result.ArtifactRef == "" {
		t.result.ArtifactRef = ref
	}
	t.piece(kind, uri, mime, data, "["+what+": "+ref+"]")
}

// piece adds something by its words, and as what it is where it fits.
func (t *resultBuilder) piece(kind, uri, mime string, data []byte, words string) {
	known := kind == "audio" || kind == "resource"
	if !known || len(data) == 0 || len(data) > maxPicture || t.inline+len(data) > maxInline {
		t.say(words)
		return
	}
	t.inline += len(data)
	t.add(tool.Content{Type: kind, URI: uri, MIME: mime, Data: data, Text: words})
}

// structured takes the structured content as data. Servers repeat it as text
// for clients that know no better; then the text is the data, exact to the last
// digit, and is not told twice.
func (t *resultBuilder) structured(value any, texts int) {
	if value == nil {
		return
	}
	r := t.result
	if texts == 1 {
		for i, c := range r.Content {
			if c.Type == "text" && sameJSON(c.Text, value) {
				var b bytes.Buffer
				json.Compact(&b, []byte(c.Text))
				r.Data = b.Bytes()
				r.Content = append(r.Content[:i], r.Content[i+1:]...)
				return
			}
		}
	}
	r.Data = encode(value)
	if rounded(value) {
		r.Warnings = append(r.Warnings, "the data holds whole numbers above 2^53, which may be rounded")
	}
}

// sameJSON reports whether a text is the JSON of a decoded value.
func sameJSON(text string, value any) bool {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune(`{["`, rune(text[0])) {
		return false
	}
	var other any
	return json.Unmarshal([]byte(text), &other) == nil && reflect.DeepEqual(other, value)
}

// rounded reports whether a decoded value holds a whole number so large that
// decoding may have changed it.
func rounded(value any) bool {
	switch v := value.(type) {
	case float64:
		return math.Abs(v) >= maxExact && v == math.Trunc(v) && !math.IsInf(v, 0)
	case []any:
		for _, item := range v {
			if rounded(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if rounded(item) {
				return true
			}
		}
	}
	return false
}

// failed makes the result a failure in the server's own words. Content that
// the words already say is not said twice.
func (t *resultBuilder) failed(name string) {
	r := t.result
	said := strings.TrimSpace(t.text.String())
	e := tool.Errorf("mcp.call", tool.Failed, "%s", tool.TruncateTo(said, maxWords))
	switch {
	case said == "" && len(r.Data) > 0:
		e.Message = fmt.Sprintf("%s failed: %s", name, tool.TruncateTo(string(r.Data), maxWords))
	case said == "":
		e.Message = name + " failed, and its server does not say why"
	case len(r.Content) == 1 && r.Content[0].Type == "text" && len(said) <= maxWords:
		r.Content = nil
	}
	r.Status, r.Error, r.Summary = tool.Failure, e, e.Error()
}

// summary is a result in one line: its text when that is short, else what it
// consists of.
func summary(name string, r *tool.Result) string {
	lines, images := 0, 0
	for _, c := range r.Content {
		if c.Type == "image" {
			images++
			continue
		}
		lines += strings.Count(strings.TrimRight(c.Text, "\n"), "\n") + 1
	}
	if len(r.Content) == 1 && lines == 1 && len(r.Data) == 0 && len(r.Content[0].Text) <= maxLine {
		return strings.TrimSpace(r.Content[0].Text)
	}
	if len(r.Content) == 0 && 0 < len(r.Data) && len(r.Data) <= maxLine {
		return string(r.Data)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{lines, "line"}, {images, "image"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.what)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.what))
		}
	}
	if len(r.Data) > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes of data", len(r.Data)))
	}
	if len(parts) == 0 {
		return name + ": done"
	}
	return name + ": " + strings.Join(parts, ", ")
}
