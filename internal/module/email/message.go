package email

import (
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/markdown"
	"callgate/internal/mimemail"
	"callgate/internal/module/email/mailserver"
	"callgate/tool"
)

// message is a message as a result has it.
type message struct {
	UID         uint32       `json:"uid"`
	Folder      string       `json:"folder"`
	ID          string       `json:"message_id,omitempty"`
	From        string       `json:"from"`
	ReplyTo     string       `json:"reply_to,omitempty"`
	To          string       `json:"to,omitempty"`
	Cc          string       `json:"cc,omitempty"`
	Date        string       `json:"date,omitempty"`
	Subject     string       `json:"subject"`
	Unread      bool         `json:"unread"`
	Flagged     bool         `json:"flagged,omitempty"`
	Bytes       int64        `json:"bytes"`
	Text        string       `json:"text"`
	Cut         bool         `json:"cut,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	InReplyTo   string       `json:"in_reply_to,omitempty"`
	References  []string     `json:"references,omitempty"`
	Problems    []string     `json:"problems,omitempty"`

	at time.Time
}

type attachment struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Bytes  int    `json:"bytes"`
}

// messageSchema is a message in JSON Schema.
const messageSchema = `{"type": "object", "properties": {
    "uid": {"type": "integer", "description": "Its number in the folder."},
    "folder": {"type": "string"},
    "message_id": {"type": "string"},
    "from": {"type": "string"}, "reply_to": {"type": "string"}, "to": {"type": "string"}, "cc": {"type": "string"},
    "date": {"type": "string", "description": "When it was written, or else came, in RFC 3339."},
    "subject": {"type": "string"},
    "unread": {"type": "boolean"}, "flagged": {"type": "boolean"},
    "bytes": {"type": "integer", "description": "The size of the whole message."},
    "text": {"type": "string", "description": "The text, or in a list its beginning."},
    "cut": {"type": "boolean", "description": "There is more text."},
    "attachments": {"type": "array", "items": {"type": "object", "properties": {
      "number": {"type": "integer"}, "name": {"type": "string"}, "type": {"type": "string"}, "bytes": {"type": "integer"}}}},
    "in_reply_to": {"type": "string"},
    "references": {"type": "array", "items": {"type": "string"}},
    "problems": {"type": "array", "items": {"type": "string"}, "description": "What of it could not be read."}
  }, "required": ["uid", "folder", "from", "subject", "unread", "bytes", "text"]}`

// maxField bounds a field of a header in a result.
const maxField = 2000

// readMessage reads a mail of a folder; at most so many bytes of its text are kept.
func readMessage(folder string, f mailserver.Fetched, most int) message {
	m := message{UID: f.UID, Folder: folder, Unread: f.Unread, Flagged: f.Flagged, Bytes: f.Size, at: f.At}
	read, ok := mimemail.Read(f.Raw)
	if !ok {
		m.Problems = []string{"it has no header, and cannot be read"}
		m.Text, m.Cut = cutText(markdown.Visible(strings.ToValidUTF8(string(f.Raw), "�")), most)
		return m
	}
	h := read.Header
	field := func(name string) string { return tool.TruncateTo(oneLine(h.Get(name)), maxField) }
	m.ID, m.From, m.ReplyTo, m.To, m.Cc = oneLine(h.ID()), field("From"), field("Reply-To"), field("To"), field("Cc")
	m.Subject, m.Problems = field("Subject"), read.Problems
	if ids := h.IDs("In-Reply-To"); len(ids) > 0 {
		m.InReplyTo = oneLine(ids[0])
	}
	for _, id := range h.IDs("References") {
		m.References = append(m.References, oneLine(id))
	}
	if at := h.Date(); !at.IsZero() {
		m.at = at
	}
	if !m.at.IsZero() {
		m.Date = m.at.Format(time.RFC3339)
	}
	text := read.Text
	if strings.TrimSpace(text) == "" && read.HTML != "" {
		text = fromHTML(read.HTML)
	}
	m.Text, m.Cut = cutText(strings.TrimSpace(markdown.Visible(text)), most)
	for i, a := range read.Attached {
		m.Attachments = append(m.Attachments, attachment{i + 1, tool.TruncateTo(oneLine(a.Name), 255), a.Type, len(a.Data)})
	}
	if f.Size > int64(len(f.Raw)) {
		m.Cut = true
	}
	return m
}

// fromHTML is what a reader of an HTML mail sees.
func fromHTML(source string) string {
	page, err := markdown.FromHTML([]byte(source), nil, markdown.Options{})
	if err != nil {
		return ""
	}
	return page.Markdown
}

func oneLine(text string) string { return strings.Join(strings.Fields(markdown.Visible(text)), " ") }

// cutText keeps the beginning of a text.
func cutText(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	return strings.ToValidUTF8(text[:most], ""), true
}

// line is a message in a list. What the sender wrote is in quotes.
func (m *message) line() string {
	var b strings.Builder
	from, subject := tool.TruncateTo(m.From, 100), tool.TruncateTo(m.Subject, 150)
	fmt.Fprintf(&b, "%d  %s  %s  %s", m.UID, m.Date, fence.Value(from), fence.Value(subject))
	if m.Unread {
		b.WriteString("  unread")
	}
	if len(m.Attachments) > 0 {
		fmt.Fprintf(&b, "  %s attached", amount.Of(len(m.Attachments), "file"))
	}
	if m.Text != "" {
		b.WriteString("\n    " + fence.Value(tool.TruncateTo(oneLine(m.Text), 160)))
	}
	return b.String()
}

// whole is a message for a reader: its fields in quotes, its text as data.
func (m *message) whole() string {
	var b strings.Builder
	fmt.Fprintf(&b, "message %d in %s\n", m.UID, fence.Value(m.Folder))
	for _, f := range []struct{ name, value string }{
		{"from", m.From}, {"reply to", m.ReplyTo}, {"to", m.To}, {"cc", m.Cc}, {"date", m.Date}, {"subject", m.Subject},
		{"message_id", m.ID}, {"in_reply_to", m.InReplyTo}, {"references", strings.Join(m.References, " ")},
	} {
		if f.value != "" {
			b.WriteString(f.name + ": " + fence.Value(f.value) + "\n")
		}
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, "attachment %d: %s, %s, %s\n",
			a.Number, fence.Value(a.Name), fence.Value(a.Type), amount.Bytes(a.Bytes))
	}
	for _, p := range m.Problems {
		b.WriteString("note: " + p + "\n")
	}
	b.WriteString(fence.Follows + fence.Data(m.Text))
	if m.Cut {
		b.WriteString("\n(its beginning; there is more)")
	}
	return b.String()
}
