package email

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/email/mailserver"
	"callgate/tool"
)

//go:embed check.md
var checkDoc string

const checkInput = `{
  "type": "object",
  "properties": {` + folderParameter + `,
    "since": {"type": "string", "pattern": "^\\d+:\\d+$", "description": "The mark of an earlier check."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "The most messages that are told."}
  },
  "additionalProperties": false
}`

const checkOutput = `{
  "type": "object",
  "properties": {
    "folder": {"type": "string"},
    "unread": {"type": "integer", "description": "How many messages of the folder are unread."},
    "total": {"type": "integer", "description": "How many messages it has."},
    "new": {"type": "integer", "description": "How many came since the mark; without one, how many are unread."},
    "messages": {"type": "array", "items": ` + messageSchema + `, "description": "The newest of those."},
    "mark": {"type": "string", "description": "For the next check."}
  },
  "required": ["folder", "unread", "total", "new", "messages", "mark"]
}`

func checkTool(defaults func() *settings) module.Definition {
	return module.Definition{
		Name: "check", Short: "EmailCheck", Doc: checkDoc, Input: checkInput, Output: checkOutput,
		Examples: []tool.Example{
			module.Example("what is unread", `{}`),
			module.Example("what came since", `{"since": "1700000000:4712"}`),
		},
		Aliases: []string{
			"choir.email.check", "check_email", "check_mail", "new_mail", "unread_emails", "poll_inbox",
			"is there new mail", "check for new messages", "how many unread emails", "did somebody write",
			"nouveaux courriels", "ai-je du courrier", "messages non lus", "neue E-Mails", "habe ich Post", "ungelesene Mails",
			"correo nuevo", "novos e-mails", "nuova posta", "检查新邮件", "新着メール", "новые письма",
		},
		Tags: []string{"new", "unread", "count", "watch", "inbox", "nouveau", "neu", "nuevo"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{inAccount}, Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
			ParamAliases: []tool.ParamAlias{{Name: "mailbox", Param: "folder"}},
		},
		Handler: handler(defaults, "check", check),
	}
}

type checkArgs struct {
	Folder, Since string
	Limit         int
}

type checkData struct {
	Folder   string    `json:"folder"`
	Unread   int       `json:"unread"`
	Total    int       `json:"total"`
	New      int       `json:"new"`
	Messages []message `json:"messages"`
	Mark     string    `json:"mark"`
}

func check(ctx context.Context, c *call, in checkArgs) (*tool.Result, error) {
	in.Folder, in.Limit = cmp.Or(in.Folder, "INBOX"), cmp.Or(in.Limit, 10)
	m, err := c.open(ctx, int64(in.Limit)*listBytes)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	state, err := m.Status(in.Folder)
	if err != nil {
		return nil, err
	}
	q, warning, err := c.newSince(in.Since, state)
	if err != nil {
		return nil, err
	}
	data := checkData{
		Folder: in.Folder, Unread: state.Unread, Total: state.Total, Messages: []message{},
		Mark: fmt.Sprintf("%d:%d", state.Validity, state.Next),
	}
	if q.FirstUID < state.Next {
		if err := m.Select(in.Folder); err != nil {
			return nil, err
		}
		uids, err := m.Find(q)
		if err != nil {
			return nil, err
		}
		data.New = len(uids)
		if data.Messages, err = c.beginnings(m, in.Folder, uids[:min(len(uids), in.Limit)]); err != nil {
			return nil, err
		}
	}
	r, err := told(data.summary(q.Unread), lines(data.Messages), data)
	if err == nil && warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, err
}

func (d *checkData) summary(unread bool) string {
	text := amount.Of(d.Unread, "unread message") + " in " + fence.Value(d.Folder)
	if !unread {
		text = fmt.Sprintf("%s in %s, %d unread in all", amount.Of(d.New, "new message"), fence.Value(d.Folder), d.Unread)
	}
	return text + "; mark " + d.Mark
}

// newSince returns what finds the messages since a mark.
func (c *call) newSince(mark string, now mailserver.State) (q mailserver.Query, warning string, err error) {
	if mark == "" {
		return mailserver.Query{Unread: true, LastUID: now.Next - 1}, "", nil
	}
	validity, next, _ := strings.Cut(mark, ":")
	v, err1 := strconv.ParseUint(validity, 10, 32)
	n, err2 := strconv.ParseUint(next, 10, 32)
	switch {
	case err1 != nil || err2 != nil:
		return q, "", tool.Errorf(c.op, tool.Invalid, "since: %q is no mark of an earlier check", tool.Truncate(mark))
	case uint32(v) != now.Validity:
		return mailserver.Query{Unread: true, LastUID: now.Next - 1},
			"the folder was made anew since that mark, so the unread messages are told instead", nil
	}
	return mailserver.Query{FirstUID: max(uint32(n), 1), LastUID: max(now.Next, 1) - 1}, "", nil
}
