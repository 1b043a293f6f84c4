package email

import (
	"callgate/internal/lazyregexp"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net/mail"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed send.md
var sendDoc string

const addressList = `"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 400}`

const sendInput = `{
  "type": "object",
  "properties": {
    "to": {` + addressList + `, "minItems": 1, "description": "Who receives it: addresses, with or without a name."},
    "cc": {` + addressList + `},
    "bcc": {` + addressList + `, "description": "Receivers that the others do not see."},
    "subject": {"type": "string", "minLength": 1, "maxLength": 500},
    "body": {"type": "string", "maxLength": 1000000, "description": "The message, in plain text."},
    "attachments": {"type": "array", "maxItems": 50, "items": {"type": "string", "minLength": 1},
      "description": "Files to attach, relative to the workspace or absolute inside it."},
    "in_reply_to": {"type": "string", "maxLength": 1000, "description": "The message_id of the message that this answers."},
    "references": {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 1000},
      "description": "The references of that message."},
    "deliver": {"type": "string", "enum": ["draft", "send"], "default": "draft",
      "description": "draft: save it for a person to send. send: send it now."}
  },
  "required": ["to", "subject", "body"],
  "additionalProperties": false
}`

const sendOutput = `{
  "type": "object",
  "properties": {
    "delivered": {"type": "string", "enum": ["draft", "sent"]},
    "message_id": {"type": "string"},
    "folder": {"type": "string", "description": "Where the draft, or the copy of what was sent, is."},
    "uid": {"type": "integer", "description": "Its number there."},
    "bytes": {"type": "integer"}
  },
  "required": ["delivered", "message_id", "bytes"]
}`

func sendTool(defaults func() *settings) module.Definition {
	return module.Definition{
		Name: "send", Short: "EmailSend", Doc: sendDoc, Input: sendInput, Output: sendOutput,
		Examples: []tool.Example{
			module.Example("a draft",
				`{"to": ["Ann Lee <ann@example.com>"], "subject": "Thursday", "body": "Does ten o'clock suit you?"}`),
			module.Example("an answer with a file, sent",
				`{"to": ["ann@example.com"], "subject": "Re: Report", "body": "Here it is.", "attachments": ["out/report.pdf"], `+
					`"in_reply_to": "b7c1@example.com", "deliver": "send"}`),
		},
		Aliases: []string{
			"choir.email.send", "send_email", "send_mail", "email_send", "gmail_send", "compose_email", "create_draft", "reply_email",
			"send an email", "write a mail to somebody", "reply to a message", "draft an email", "mail a file",
			"envoyer un courriel", "écrire un e-mail", "répondre à un mail", "E-Mail senden", "eine Mail schreiben", "Entwurf anlegen",
			"enviar un correo", "enviar um e-mail", "inviare una mail", "发送邮件", "メールを送る", "отправить письмо",
		},
		Tags: []string{"send", "draft", "reply", "compose", "attachment", "smtp", "envoyer", "brouillon", "senden", "enviar"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{attachments}", Mode: tool.S}, onAccount},
			Risk:    tool.High, SideEffect: tool.External, Data: tool.DataSensitive,
			ParamAliases: []tool.ParamAlias{{Name: "recipients", Param: "to"}, {Name: "message", Param: "body"},
				{Name: "text", Param: "body"}, {Name: "content", Param: "body"}, {Name: "files", Param: "attachments"}},
		},
		Handler: handler(defaults, "send", send),
	}
}

type sendArgs struct {
	To, Cc, Bcc []string
	Subject     string
	Body        string
	Attachments []string
	InReplyTo   string `json:"in_reply_to"`
	References  []string
	Deliver     string
}

type sendData struct {
	Delivered string `json:"delivered"`
	ID        string `json:"message_id"`
	Folder    string `json:"folder,omitempty"`
	UID       uint32 `json:"uid,omitempty"`
	Bytes     int    `json:"bytes"`
}

func send(ctx context.Context, c *call, in sendArgs) (*tool.Result, error) {
	now := in.Deliver == "send"
	if err := c.checkSend(in, now); err != nil {
		return nil, err
	}
	m, err := c.compose(in)
	if err != nil {
		return nil, err
	}
	defer m.close()
	raw, err := m.bytes(c, !now)
	if err != nil {
		return nil, err
	}
	data := sendData{ID: m.id, Bytes: len(raw)}
	if !now {
		data.Delivered = "draft"
		if data.Folder, data.UID, err = c.keepIn(ctx, c.settings.Drafts, "drafts", raw); err != nil {
			return nil, err
		}
		return tool.OK(fmt.Sprintf("saved as a draft in %s, to %s, %s; it was not sent",
			data.Folder, m.receivers(), amount.Bytes(len(raw))), data)
	}
	if err := c.account().Send(ctx, m.Msg); err != nil {
		return nil, err
	}
	data.Delivered = "sent"
	warning := c.keepCopy(ctx, &data, raw)
	r, err := tool.OK(fmt.Sprintf("sent to %s, %s", m.receivers(), amount.Bytes(len(raw))), data)
	if err == nil && warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}

// checkSend checks what the app file says before anything is read or reached.
func (c *call) checkSend(in sendArgs, now bool) error {
	s := c.settings
	switch {
	case s.from == nil:
		return tool.Errorf(c.op, tool.Unavailable, "the app file names no sender").
			WithHint("it says who writes: %s.config.address", settingsKey)
	case now && s.DraftsOnly:
		return tool.Errorf(c.op, tool.Denied, "this app sends nothing: its messages are drafts that a person sends").
			WithHint("leave deliver out; the app file says so: %s.constraints.drafts_only", settingsKey)
	case now && s.smtp.Host == "":
		return tool.Errorf(c.op, tool.Unavailable, "the app file names no server that sends mail").
			WithHint("leave deliver out for a draft, or let the app file say %s.config.smtp", settingsKey)
	case !now && s.imap.Host == "":
		return tool.Errorf(c.op, tool.Unavailable, "the app file names no mailbox, so there is no place for a draft").
			WithHint(`say deliver: "send" if it is to be sent, or let the app file say %s.config.imap`, settingsKey)
	case len(in.To)+len(in.Cc)+len(in.Bcc) > s.MaxRecipients:
		return tool.Errorf(c.op, tool.Denied, "the message has %s, and %d are allowed",
			amount.Of(len(in.To)+len(in.Cc)+len(in.Bcc), "receiver"), s.MaxRecipients).
			WithHint("write to fewer at a time; the app file may allow more: %s.constraints.max_recipients", settingsKey)
	case strings.ContainsFunc(in.Subject, isControl):
		return tool.Errorf(c.op, tool.Invalid, "the subject holds a line break or another control character").
			WithHint("a subject is one line of text")
	}
	for _, id := range append([]string{in.InReplyTo}, in.References...) {
		if id != "" && !messageID.MatchString(id) {
			return tool.Errorf(c.op, tool.Invalid, "%q is no message ID", tool.Truncate(id)).
				WithHint("email.receive gives message_id and references")
		}
	}
	return nil
}

// messageID is what an ID of a message looks like, with or without its brackets.
var messageID = lazyregexp.New(`^<?[!-;=?-~]+>?$`)

// recipients reads a list of addresses that the app file lets be written to.
func (c *call) recipients(key string, list []string) ([]*mail.Address, error) {
	var all []*mail.Address
	for _, text := range list {
		a, err := parseAddress(text)
		if err != nil {
			return nil, tool.Errorf(c.op, tool.Invalid, "%s: %v", key, err).
				WithHint("write each address as ann@example.com or Ann Lee <ann@example.com>, one in each element")
		}
		if !c.settings.mayWriteTo(a.Address) {
			return nil, tool.Errorf(c.op, tool.Denied, "%s: this app does not write to %s", key, a.Address).
				WithHint("the app file allows %s (%s.constraints.allowed_recipients)",
					strings.Join(c.settings.Recipients, ", "), settingsKey)
		}
		all = append(all, a)
	}
	return all, nil
}

// keepIn puts a mail into a folder of the mailbox, which is found by its use unless the
// app file names it.
func (c *call) keepIn(ctx context.Context, folder, use string, raw []byte) (string, uint32, error) {
	m, err := c.open(ctx, 0)
	if err != nil {
		return "", 0, err
	}
	defer m.Close()
	if folder == "" {
		if folder, err = m.FolderFor(use); err != nil {
			return "", 0, err
		}
	}
	if folder == "" {
		return "", 0, tool.Errorf(c.op, tool.NotFound, "the mailbox has no folder for %s", use).
			WithHint("the app file may name one: %s.config.%s", settingsKey, use)
	}
	uid, err := m.Append(folder, raw, use == "drafts")
	return folder, uid, err
}

// keepCopy keeps a copy of what was sent. The mail is gone, so a failure is a warning.
func (c *call) keepCopy(ctx context.Context, data *sendData, raw []byte) (warning string) {
	if c.settings.Sent == "none" || c.settings.imap.Host == "" {
		return ""
	}
	folder, uid, err := c.keepIn(ctx, c.settings.Sent, "sent", raw)
	if err != nil {
		return "it was sent, but no copy of it could be kept: " + err.Error()
	}
	data.Folder, data.UID = folder, uid
	return ""
}

// newID makes the ID of a message, which is the same for the same call.
func (c *call) newID() string {
	domain := c.settings.from.Address[strings.LastIndexByte(c.settings.from.Address, '@')+1:]
	return shortHash(cmp.Or(c.id, rand.Text())) + "@" + domain
}
