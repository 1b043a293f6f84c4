package email

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/email/mailserver"
	"callgate/tool"
)

//go:embed receive.md
var receiveDoc string

const folderParameter = `"folder": {"type": "string", "minLength": 1, "maxLength": 500, "default": "INBOX",
      "description": "Which folder; email.folders lists them."}`

const receiveInput = `{
  "type": "object",
  "properties": {` + folderParameter + `,
    "uid": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "Read this message."},
    "thread": {"type": "boolean", "default": false, "description": "With uid: read the whole conversation."},
    "query": {"type": "string", "maxLength": 500, "description": "Words that the message contains, in any part."},
    "from": {"type": "string", "maxLength": 500},
    "to": {"type": "string", "maxLength": 500},
    "subject": {"type": "string", "maxLength": 500},
    "since": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$", "description": "Came on this day or later: 2026-01-31."},
    "before": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$", "description": "Came before this day."},
    "unread": {"type": "boolean", "description": "Only those that nobody has read."},
    "flagged": {"type": "boolean", "description": "Only those with a flag."},
    "older_than": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "Continue a list: only uids below this."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}
  },
  "additionalProperties": false
}`

const receiveOutput = `{
  "type": "object",
  "properties": {
    "messages": {"type": "array", "items": ` + messageSchema + `},
    "found": {"type": "integer", "description": "How many messages fit."},
    "more": {"type": "boolean", "description": "There are older ones: continue with older_than."}
  },
  "required": ["messages", "found", "more"]
}`

func receiveTool(defaults func() *settings) module.Definition {
	return module.Definition{
		Name: "receive", Short: "EmailReceive", Doc: receiveDoc, Input: receiveInput, Output: receiveOutput,
		Examples: []tool.Example{
			module.Example("the newest", `{}`),
			module.Example("search", `{"from": "ann@example.com", "subject": "invoice", "since": "2026-01-01"}`),
			module.Example("read one", `{"uid": 4711}`),
			module.Example("read a conversation", `{"uid": 4711, "thread": true}`),
		},
		Aliases: []string{
			"choir.email.receive", "read_email", "read_mail", "list_emails", "search_emails", "get_emails", "fetch_email", "gmail_search",
			"imap", "inbox", "read my mail", "find a message", "search the mailbox", "open an email", "show a conversation",
			"lire mes courriels", "chercher un e-mail", "boîte de réception", "E-Mails lesen", "Postfach durchsuchen", "Posteingang",
			"leer el correo", "buscar correos", "ler e-mails", "leggere la posta", "读取邮件", "メールを読む", "прочитать почту",
		},
		Tags: []string{"read", "inbox", "search", "list", "thread", "imap", "lire", "lesen", "leer", "boîte"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{inAccount}, Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
			ParamAliases: []tool.ParamAlias{{Name: "mailbox", Param: "folder"}, {Name: "search", Param: "query"},
				{Name: "max_results", Param: "limit"}, {Name: "count", Param: "limit"}, {Name: "unseen", Param: "unread"}},
		},
		Handler: handler(defaults, "receive", receive),
	}
}

type receiveArgs struct {
	Folder                   string
	UID                      uint32
	Thread                   bool
	Query, From, To, Subject string
	Since, Before            string
	Unread, Flagged          bool
	OlderThan                uint32 `json:"older_than"`
	Limit                    int
}

type receiveData struct {
	Messages []message `json:"messages"`
	Found    int       `json:"found"`
	More     bool      `json:"more"`
}

// The bounds of what is read.
const (
	listBytes  = 24 << 10 // of each message in a list: its header, and the beginning of its text
	listText   = 300
	maxThread  = 50
	threadText = 1 << 20 // bytes of each message of a conversation
)

func receive(ctx context.Context, c *call, in receiveArgs) (*tool.Result, error) {
	in.Folder, in.Limit = cmp.Or(in.Folder, "INBOX"), cmp.Or(in.Limit, 20)
	switch {
	case in.UID == 0 && in.Thread:
		return nil, tool.Errorf(c.op, tool.Invalid, "thread needs uid: a message of the conversation")
	case in.UID > 0 && in.Thread:
		return c.thread(ctx, in)
	case in.UID > 0:
		return c.readOne(ctx, in)
	}
	return c.list(ctx, in)
}

// list finds messages and tells the beginning of each.
func (c *call) list(ctx context.Context, in receiveArgs) (*tool.Result, error) {
	q := mailserver.Query{
		Text: in.Query, From: in.From, To: in.To, Subject: in.Subject, Unread: in.Unread, Flagged: in.Flagged,
	}
	var err error
	if q.Since, err = c.day("since", in.Since); err != nil {
		return nil, err
	}
	if q.Before, err = c.day("before", in.Before); err != nil {
		return nil, err
	}
	if in.OlderThan > 0 {
		if q.LastUID = in.OlderThan - 1; q.LastUID == 0 {
			return told("there are no older messages", "", receiveData{Messages: []message{}})
		}
	}
	m, err := c.open(ctx, int64(in.Limit)*listBytes)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := m.Select(in.Folder); err != nil {
		return nil, err
	}
	uids, err := m.Find(q)
	if err != nil {
		return nil, err
	}
	data := receiveData{Found: len(uids), More: len(uids) > in.Limit}
	if data.Messages, err = c.beginnings(m, in.Folder, uids[:min(len(uids), in.Limit)]); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("%s in %s", amount.Of(len(uids), "message"), fence.Value(in.Folder))
	if data.More {
		summary += fmt.Sprintf("; the newest %d are shown", in.Limit)
	}
	return told(summary, lines(data.Messages), data)
}

// day reads a day.
func (c *call) day(key, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, tool.Errorf(c.op, tool.Invalid, "%s: %q is no day", key, tool.Truncate(text)).
			WithHint("write it as 2026-01-31")
	}
	return day, nil
}

// beginnings reads the beginning of messages.
func (c *call) beginnings(m *mailserver.Mailbox, folder string, uids []uint32) ([]message, error) {
	fetched, err := m.Fetch(uids, listBytes)
	if err != nil {
		return nil, err
	}
	all := make([]message, 0, len(fetched))
	for _, f := range fetched {
		one := readMessage(folder, f, listText)
		if f.Size > int64(len(f.Raw)) {
			one.Problems, one.Attachments = nil, nil // only its beginning was read
		}
		all = append(all, one)
	}
	return all, nil
}

func lines(all []message) string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].line()
	}
	if len(texts) > 0 {
		texts = append(texts, fence.Quoted)
	}
	return strings.Join(texts, "\n")
}

// told is a result with a text for a model and data for programs.
func told(summary, text string, data any) (*tool.Result, error) {
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(strings.TrimSpace(summary + "\n" + text))}
	}
	return r, err
}

// readOne reads one message whole, or of one that is too large its beginning.
func (c *call) readOne(ctx context.Context, in receiveArgs) (*tool.Result, error) {
	m, err := c.open(ctx, int64(c.settings.MaxMessage))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	one, err := c.one(m, in.Folder, in.UID)
	if err != nil {
		return nil, err
	}
	return told("the message "+fence.Value(one.Subject), one.whole(), receiveData{Messages: []message{*one}, Found: 1})
}

func (c *call) one(m *mailserver.Mailbox, folder string, uid uint32) (*message, error) {
	if err := m.Select(folder); err != nil {
		return nil, err
	}
	size, err := m.Size(uid)
	if err != nil {
		return nil, err
	}
	var most int64
	if size > int64(c.settings.MaxMessage) {
		most = min(int64(c.settings.MaxMessage), threadText)
	}
	fetched, err := m.Fetch([]uint32{uid}, most)
	if err != nil {
		return nil, err
	}
	if len(fetched) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "the message %d is gone", uid)
	}
	one := readMessage(folder, fetched[0], c.settings.MaxBytes)
	if most > 0 {
		one.Problems = []string{fmt.Sprintf("it has %s, and only its beginning was read; the app file may allow more: "+
			"%s.constraints.max_message_bytes", amount.Bytes(size), settingsKey)}
	}
	return &one, nil
}

// thread reads the conversation that a message belongs to, the oldest message first.
func (c *call) thread(ctx context.Context, in receiveArgs) (*tool.Result, error) {
	m, err := c.open(ctx, int64(c.settings.MaxMessage)+2*maxThread*threadText)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	first, err := c.one(m, in.Folder, in.UID)
	if err != nil {
		return nil, err
	}
	all := []message{*first}
	if ids := threadIDs(first); len(ids) > 0 {
		folders := []string{in.Folder}
		if sent, err := c.sentFolder(m); err == nil && sent != "" && sent != in.Folder {
			folders = append(folders, sent)
		}
		for _, folder := range folders {
			if all, err = c.addThread(m, folder, ids, all); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(all, func(a, b message) int { // in one second, an answer names more than what it answers
		return cmp.Or(a.at.Truncate(time.Second).Compare(b.at.Truncate(time.Second)), len(a.References)-len(b.References))
	})
	texts := make([]string, len(all))
	left := c.settings.MaxBytes
	for i := range all {
		var cut bool
		if all[i].Text, cut = cutText(all[i].Text, max(left, 0)); cut {
			all[i].Cut = true
		}
		left -= len(all[i].Text)
		texts[i] = all[i].whole()
	}
	return told(fmt.Sprintf("a conversation of %s: %s", amount.Of(len(all), "message"), fence.Value(first.Subject)),
		strings.Join(texts, "\n\n"), receiveData{Messages: all, Found: len(all)})
}

func (c *call) sentFolder(m *mailserver.Mailbox) (string, error) {
	switch c.settings.Sent {
	case "none":
		return "", nil
	case "":
		return m.FolderFor("sent")
	}
	return c.settings.Sent, nil
}

// threadIDs are the IDs by which the messages of a conversation name each other; the first
// of a long conversation and the last ones are enough.
func threadIDs(m *message) []string {
	ids := append(slices.Clone(m.References), m.ID)
	if m.InReplyTo != "" {
		ids = append(ids, m.InReplyTo)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" || len(id) > 500 })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > 10 {
		ids = ids[:10]
	}
	return ids
}

// addThread adds the messages of a folder that belong to a conversation.
func (c *call) addThread(m *mailserver.Mailbox, folder string, ids []string, all []message) ([]message, error) {
	if err := m.Select(folder); err != nil {
		return nil, err
	}
	uids, err := m.Find(mailserver.Query{ID: ids})
	if err != nil {
		return nil, err
	}
	fetched, err := m.Fetch(uids[:min(len(uids), maxThread)], threadText)
	if err != nil {
		return nil, err
	}
	for _, f := range fetched {
		one := readMessage(folder, f, c.settings.MaxBytes)
		known := func(m message) bool {
			return m.Folder == folder && m.UID == one.UID || m.ID != "" && m.ID == one.ID
		}
		if !slices.ContainsFunc(all, known) {
			all = append(all, one)
		}
	}
	return all, nil
}
