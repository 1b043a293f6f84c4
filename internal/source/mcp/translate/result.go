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
	maxPicture = 5 << 20  // bytes of an image, as the strictest model API has it
	maxInline  = 10 << 20 // bytes of audio and other binary content in one result
	maxError   = 2 << 10  // bytes of a server's text in an error
	maxExact   = 1 << 53  // the largest integer that decoding does not round
	maxLine    = 120      // bytes of a text that is its own summary
	maxLink    = 64 << 10 // bytes of the description of a link
)

// StoreFunc stores bytes that no model can read, and returns their ref.
type StoreFunc func(ctx context.Context, data []byte) (ref string, err error)

// Result turns the result of a server's tool into ours. What a model can read
// becomes content, structured content becomes data, and other bytes are stored;
// a failure keeps the server's text. Metadata is dropped.
func Result(ctx context.Context, name string, res *sdk.CallToolResult, store StoreFunc) *tool.Result {
	b := resultBuilder{ctx: ctx, store: store, result: &tool.Result{Status: tool.Success}}
	texts := 0
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok && text.Text != "" {
			texts++
		}
		b.content(c)
	}
	b.structured(res.StructuredContent, texts)
	r := b.result
	if res.IsError {
		b.failed(name)
		return r
	}
	r.Summary = summary(name, r)
	return r
}

// resultBuilder builds one result.
type resultBuilder struct {
	ctx    context.Context
	store  StoreFunc
	result *tool.Result
	inline int             // bytes of content that is neither text nor image
	text   strings.Builder // all text, for an error
}

func (b *resultBuilder) addText(text string) {
	if text == "" {
		return
	}
	b.add(tool.Text(text))
}

// add adds a piece of content, and its text.
func (b *resultBuilder) add(c tool.Content) {
	b.result.Content = append(b.result.Content, c)
	text := c.Text
	if b.text.Len() < maxError {
		if b.text.Len() > 0 {
			b.text.WriteByte('\n')
		}
		b.text.WriteString(tool.TruncateTo(text, maxError))
	}
}

func (b *resultBuilder) content(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		b.addText(c.Text)
	case *sdk.ImageContent:
		b.bytes("image", "", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		b.bytes("audio", "", c.MIMEType, c.Data)
	case *sdk.EmbeddedResource:
		b.resource(c.Resource)
	case *sdk.ResourceLink:
		b.link(c)
	default: // content that belongs elsewhere in the protocol
		b.addText(string(encode(c)))
	}
}

func (b *resultBuilder) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob != nil:
		b.bytes("resource", r.URI, r.MIMEType, r.Blob)
	case r.URI != "":
		b.add(tool.Resource(r.URI, r.MIMEType, r.Text))
	default:
		b.addText(r.Text)
	}
}

func (b *resultBuilder) link(l *sdk.ResourceLink) {
	line := "resource " + l.URI
	for _, part := range []string{l.Title, l.Name, l.MIMEType, l.Description} {
		if part != "" && !strings.Contains(line, part) {
			line += ", " + part
		}
	}
	if l.Size != nil {
		line += fmt.Sprintf(", %d bytes", *l.Size)
	}
	b.addText(tool.TruncateTo(line, maxLink))
}

// bytes adds binary content. A model is shown a picture. Other bytes are stored,
// and a text says where; within bounds they are part of the result too, for
// clients that can use them.
func (b *resultBuilder) bytes(kind, uri, mime string, data []byte) {
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
		b.result.Content = append(b.result.Content, picture)
		return
	}
	if b.store == nil {
		b.piece(kind, uri, mime, data, "["+what+": left out]")
		b.result.Warnings = append(b.result.Warnings, "the server sent "+what+", which cannot be shown; it is left out")
		return
	}
	ref, err := b.store(b.ctx, data)
	if err != nil {
		b.piece(kind, uri, mime, data, "["+what+": left out]")
		b.result.Warnings = append(b.result.Warnings, "the server sent "+what+", which could not be stored: "+err.Error())
		return
	}
	if b.result.ArtifactRef == "" {
		b.result.ArtifactRef = ref
	}
	b.piece(kind, uri, mime, data, "["+what+": "+ref+"]")
}

// piece adds a text about binary content, with the bytes where they fit.
func (b *resultBuilder) piece(kind, uri, mime string, data []byte, text string) {
	known := kind == "audio" || kind == "resource"
	if !known || len(data) == 0 || len(data) > maxPicture || b.inline+len(data) > maxInline {
		b.addText(text)
		return
	}
	b.inline += len(data)
	b.add(tool.Content{Type: kind, URI: uri, MIME: mime, Data: data, Text: text})
}

// structured adds structured content as data. Servers repeat it as text for old
// clients; then the text is used as data, because its numbers are exact, and is
// left out of the content.
func (b *resultBuilder) structured(value any, texts int) {
	if value == nil {
		return
	}
	r := b.result
	if texts == 1 {
		for i, c := range r.Content {
			if c.Type == "text" && sameJSON(c.Text, value) {
				var compact bytes.Buffer
				json.Compact(&compact, []byte(c.Text))
				r.Data = compact.Bytes()
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

// rounded reports whether a decoded value holds an integer so large that
// decoding may have rounded it.
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

// failed makes the result a failure with the server's text. Content that only
// repeats this text is left out.
func (b *resultBuilder) failed(name string) {
	r := b.result
	text := strings.TrimSpace(b.text.String())
	e := tool.Errorf("mcp.call", tool.Failed, "%s", tool.TruncateTo(text, maxError))
	switch {
	case text == "" && len(r.Data) > 0:
		e.Message = fmt.Sprintf("%s failed: %s", name, tool.TruncateTo(string(r.Data), maxError))
	case text == "":
		e.Message = name + " failed, and its server does not say why"
	case len(r.Content) == 1 && r.Content[0].Type == "text" && len(text) <= maxError:
		r.Content = nil
	}
	r.Status, r.Error, r.Summary = tool.Failure, e, e.Error()
}

// summary describes a result in one line: by its text when that is short,
// otherwise by what it consists of.
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
