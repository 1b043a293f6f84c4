package email

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	netmail "net/mail"
	"os"
	"path"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"callgate/internal/amount"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// outgoing is a message that was composed.
type outgoing struct {
	*mail.Msg
	id    string
	to    []*netmail.Address
	bcc   []*netmail.Address
	files []*os.File
}

func (m *outgoing) close() {
	for _, f := range m.files {
		_ = f.Close()
	}
}

// compose makes the message of a call. The caller closes it.
func (c *call) compose(in sendArgs) (*outgoing, error) {
	m := &outgoing{Msg: mail.NewMsg(mail.WithNoDefaultUserAgent()), id: c.newID()}
	m.FromMailAddress(c.settings.from)
	for _, list := range []struct {
		key   string
		texts []string
		set   func(...*netmail.Address)
	}{{"to", in.To, m.ToMailAddress}, {"cc", in.Cc, m.CcMailAddress}, {"bcc", in.Bcc, m.BccMailAddress}} {
		all, err := c.recipients(list.key, list.texts)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			list.set(all...)
		}
		m.to = append(m.to, all...)
		if list.key == "bcc" {
			m.bcc = all
		}
	}
	m.Subject(in.Subject)
	m.SetMessageIDWithValue(m.id)
	m.SetDateWithValue(time.Now())
	if in.InReplyTo != "" {
		answered := "<" + strings.Trim(in.InReplyTo, "<>") + ">"
		m.SetGenHeaderPreformatted("In-Reply-To", answered)
		var all []string
		for _, id := range in.References {
			if one := "<" + strings.Trim(id, "<>") + ">"; one != answered {
				all = append(all, one)
			}
		}
		m.SetGenHeaderPreformatted("References", strings.Join(append(all, answered), "\r\n "))
	}
	m.SetBodyString(mail.TypeTextPlain, strings.ReplaceAll(in.Body, "\x00", "�"))
	if err := c.attach(m, in.Attachments); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// attach adds files of the workspace to a message.
func (c *call) attach(m *outgoing, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	workspace, err := workfile.New(c.op, c.grant)
	if err != nil {
		return err
	}
	var size int64
	for _, p := range paths {
		f, shown, err := workspace.Open(p)
		if err != nil {
			return err
		}
		m.files = append(m.files, f)
		info, err := f.Stat()
		if err != nil {
			return tool.Errorf(c.op, tool.Failed, "%q cannot be read: %w", shown, err)
		}
		if size += info.Size(); size > int64(c.settings.MaxMessage) {
			return c.tooLarge(size)
		}
		m.AttachReadSeeker(fileName(path.Base(shown)), io.NewSectionReader(f, 0, info.Size()))
	}
	return nil
}

func (c *call) tooLarge(size int64) error {
	return tool.Errorf(c.op, tool.Denied, "the message is too large: what is attached has %s, and a message may have %s",
		amount.Bytes(size), amount.Bytes(c.settings.MaxMessage)).
		WithHint("attach less, or send a link; the app file may allow more: %s.constraints.max_message_bytes", settingsKey)
}

// fileName is a name of a file that fits into a field, and into a folder of another machine.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
}

// bytes writes the message as it is stored; a draft keeps the receivers that others do not
// see, so that they are there when a person sends it.
func (m *outgoing) bytes(c *call, draft bool) ([]byte, error) {
	var b bytes.Buffer
	if draft && len(m.bcc) > 0 {
		list := make([]string, len(m.bcc))
		for i, a := range m.bcc {
			list[i] = a.String()
		}
		fmt.Fprintf(&b, "Bcc: %s\r\n", strings.Join(list, ",\r\n "))
	}
	if _, err := m.WriteTo(&b); err != nil {
		return nil, tool.Errorf(c.op, tool.Failed, "the message could not be written: %w", err)
	}
	if b.Len() > c.settings.MaxMessage*3/2 { // what makes files fit for travel adds a third
		return nil, c.tooLarge(int64(b.Len()))
	}
	return b.Bytes(), nil
}

// receivers names those who receive the message.
func (m *outgoing) receivers() string {
	list := make([]string, len(m.to))
	for i, a := range m.to {
		list[i] = a.Address
	}
	return tool.TruncateTo(strings.Join(list, ", "), 300)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}
