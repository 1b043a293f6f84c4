package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/internal/fence"
)

// Event is something that happened outside and starts a turn.
type Event struct {
	ID    string    `json:"id"` // by which two are known to be one
	At    time.Time `json:"at"` // when it was received
	Title string    `json:"title,omitempty"`
	// Facts are what is known of it beside its body: a sender, an address, headers.
	Facts []Fact `json:"facts,omitempty"`
	Type  string `json:"type,omitempty"` // of the body, a media type
	Body  []byte `json:"body,omitempty"`
	Size  int    `json:"size,omitempty"` // of the body as it was sent, where it was cut; 0: it is whole
}

// Fact is one thing that is known of an event.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HashID makes an ID of texts, each of which may be anything.
func HashID(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// The bounds of what a model is shown of the facts.
const (
	maxFacts = 40
	maxFact  = 1000
)

// Fenced writes an event for a model: data in a fence that it cannot end, with at most
// so many bytes of its body. rest says where the whole body is, if it was cut; "" for
// nowhere. It reports whether the whole body is in it.
func (e Event) Fenced(source string, most int, rest string) (text string, whole bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "<event source=%q id=%q received=%q>\n", attribute(source), attribute(e.ID),
		e.At.UTC().Format(time.RFC3339))
	if e.Title != "" {
		fmt.Fprintf(&b, "title: %s\n", oneLine(e.Title))
	}
	for _, f := range e.Facts[:min(len(e.Facts), maxFacts)] {
		fmt.Fprintf(&b, "%s: %s\n", oneLine(f.Name), oneLine(f.Value))
	}
	body, n := e.shown(most)
	if len(e.Body) > 0 {
		b.WriteString("\n" + body + "\n")
	}
	switch whole = n == len(e.Body); {
	case !whole && rest != "":
		fmt.Fprintf(&b, "[the first %d of %d bytes; %s]\n", n, len(e.Body), rest)
	case !whole:
		fmt.Fprintf(&b, "[the first %d of %d bytes]\n", n, len(e.Body))
	}
	if e.Size > len(e.Body) {
		fmt.Fprintf(&b, "[it was sent with %d bytes, of which %d were taken in]\n", e.Size, len(e.Body))
	}
	b.WriteString("</event>")
	return b.String(), whole
}

// Text is the body as text; "" where it is none.
func (e Event) Text() string {
	if !utf8.Valid(e.Body) || strings.ContainsRune(string(e.Body), 0) {
		return ""
	}
	return string(e.Body)
}

// shown is as much of the body as a model is shown, and how many bytes of it that is.
func (e Event) shown(most int) (text string, n int) {
	if len(e.Body) > 0 && e.Text() == "" {
		kind, _, _ := mime.ParseMediaType(e.Type)
		return fmt.Sprintf("[%d bytes that are not text, of the type %q]", len(e.Body), kind), len(e.Body)
	}
	n = min(most, len(e.Body))
	for n > 0 && n < len(e.Body) && !utf8.RuneStart(e.Body[n]) {
		n--
	}
	return fence.Marks(string(e.Body[:n])), n
}

// oneLine is a text that is data, on one line.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "�")), " ")
	if len(text) > maxFact {
		text = strings.ToValidUTF8(text[:maxFact], "") + "…"
	}
	return fence.Marks(text)
}

// attribute is a text that stands in quotes.
func attribute(text string) string {
	return strings.NewReplacer(`"`, "'", "<", "&lt;", ">", "&gt;").Replace(oneLine(text))
}
