package mailbox

import (
	"fmt"
	"strings"

	"callgate/internal/channel"
	"callgate/internal/mimemail"
)

// headers are those that an event tells of a mail.
var headers = []string{"From", "To", "Cc", "Reply-To", "Date", "List-Id", "In-Reply-To"}

// readMail reads a mail: its text, and what is attached by name. What cannot be read is
// passed on as it is.
func readMail(raw []byte) channel.Event {
	m, ok := mimemail.Read(raw)
	if !ok {
		return channel.Event{Type: "message/rfc822", Body: raw}
	}
	e := channel.Event{ID: m.Header.ID(), Title: m.Header.Get("Subject")}
	for _, name := range headers {
		if value := m.Header.Get(name); value != "" {
			e.Facts = append(e.Facts, channel.Fact{Name: strings.ToLower(name), Value: value})
		}
	}
	for _, a := range m.Attached {
		about := fmt.Sprintf("%s (%s, %d bytes)", a.Name, a.Type, len(a.Data))
		e.Facts = append(e.Facts, channel.Fact{Name: "attached", Value: about})
	}
	e.Type, e.Body = "text/plain; charset=utf-8", []byte(m.Text)
	if m.Text == "" && m.HTML != "" {
		e.Type, e.Body = "text/html; charset=utf-8", []byte(m.HTML)
	}
	return e
}
