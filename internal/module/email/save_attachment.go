package email

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path"
	"strconv"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/mimemail"
	"callgate/internal/module"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed save_attachment.md
var saveDoc string

// staging is the folder of the workspace for what comes from outside.
const staging = ".choirtmp/recv"

const saveInput = `{
  "type": "object",
  "properties": {` + folderParameter + `,
    "uid": {"type": "integer", "minimum": 1, "maximum": 4294967295, "description": "The message."},
    "attachment": {"type": ["integer", "string"], "description": "The number or the name of the file."},
    "path": {"type": "string", "minLength": 1, "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}
  },
  "required": ["uid"],
  "additionalProperties": false
}`

const saveOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer"},
    "content_type": {"type": "string", "description": "What the message says that it is."},
    "name": {"type": "string", "description": "What the message calls it."}
  },
  "required": ["path", "bytes", "content_type", "name"]
}`

func saveTool(defaults func() *settings) module.Definition {
	return module.Definition{
		Name: "save_attachment", Short: "EmailSave", Doc: saveDoc, Input: saveInput, Output: saveOutput,
		Examples: []tool.Example{
			module.Example("the only file", `{"uid": 4711}`),
			module.Example("by its number", `{"uid": 4711, "attachment": 2, "path": "invoices/march.pdf"}`),
		},
		Aliases: []string{
			"download_attachment", "get_attachment", "save a file from an email", "download an attachment",
			"enregistrer une pièce jointe", "Anhang speichern", "guardar un adjunto", "salvar anexo", "保存附件", "添付ファイルを保存",
		},
		Tags: []string{"attachment", "file", "save", "download", "pièce jointe", "Anhang", "adjunto"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{
				{Resource: "file:{path}", Mode: tool.U},
				{Resource: "file:" + staging, Mode: tool.U, Unless: []string{"path"}},
				inAccount,
			},
			Risk: tool.Medium, SideEffect: tool.Write, Data: tool.DataSensitive,
		},
		Handler: handler(defaults, "save_attachment", saveAttachment),
	}
}

type saveArgs struct {
	Folder     string
	UID        uint32
	Attachment any
	Path       string
	Overwrite  bool
}

func saveAttachment(ctx context.Context, c *call, in saveArgs) (*tool.Result, error) {
	workspace, err := workfile.New(c.op, c.grant)
	if err != nil {
		return nil, err
	}
	attached, err := c.attachments(ctx, cmp.Or(in.Folder, "INBOX"), in.UID)
	if err != nil {
		return nil, err
	}
	a, err := c.choose(attached, in.Attachment)
	if err != nil {
		return nil, err
	}
	to := in.Path
	if to == "" {
		to = path.Join(staging, savedName(a.Name, in.UID))
	}
	target, err := workspace.Target(to, in.Overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	f, err := target.Create("")
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(a.Data); err != nil {
		f.Discard()
		return nil, err
	}
	if err := f.Commit(); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("saved %s: %s, %s", target.Shown(), amount.Bytes(len(a.Data)), fence.Value(a.Type))
	return tool.OK(summary, map[string]any{
		"path": target.Shown(), "bytes": len(a.Data), "content_type": a.Type, "name": tool.TruncateTo(oneLine(a.Name), 255),
	})
}

// attachments reads what is attached to a message.
func (c *call) attachments(ctx context.Context, folder string, uid uint32) ([]mimemail.Attachment, error) {
	m, err := c.open(ctx, int64(c.settings.MaxMessage))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if err := m.Select(folder); err != nil {
		return nil, err
	}
	size, err := m.Size(uid)
	if err != nil {
		return nil, err
	}
	if size > int64(c.settings.MaxMessage) {
		return nil, tool.Errorf(c.op, tool.Denied, "the message has %s, and at most %s are read",
			amount.Bytes(size), amount.Bytes(c.settings.MaxMessage)).
			WithHint("the app file may allow more: %s.constraints.max_message_bytes", settingsKey)
	}
	fetched, err := m.Fetch([]uint32{uid}, 0)
	if err != nil {
		return nil, err
	}
	if len(fetched) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "the message %d is gone", uid)
	}
	read, ok := mimemail.Read(fetched[0].Raw)
	if !ok || len(read.Attached) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "nothing is attached to the message %d", uid)
	}
	return read.Attached, nil
}

// choose finds the attachment that a call names.
func (c *call) choose(all []mimemail.Attachment, named any) (mimemail.Attachment, error) {
	number := 0
	switch v := named.(type) {
	case nil:
		if len(all) == 1 {
			return all[0], nil
		}
	case float64:
		number = int(v)
	case string:
		for _, a := range all {
			if a.Name == v || oneLine(a.Name) == v {
				return a, nil
			}
		}
		number, _ = strconv.Atoi(v)
	}
	if number >= 1 && number <= len(all) {
		return all[number-1], nil
	}
	names := make([]string, len(all))
	for i, a := range all {
		names[i] = fmt.Sprintf("%d %s", i+1, fence.Value(tool.TruncateTo(a.Name, 100)))
	}
	return mimemail.Attachment{}, tool.Errorf(c.op, tool.NotFound, "it is not clear which file is meant").
		WithHint("the message has %s", tool.TruncateTo(strings.Join(names, ", "), 1000))
}

// savedName is the name under which an attachment is saved: nothing of a path, nothing
// hidden, and never without the number of its message.
func savedName(name string, uid uint32) string {
	name = strings.Trim(fileName(oneLine(name)), " .")
	if len(name) > 120 {
		ext := path.Ext(name)
		if len(ext) > 20 {
			ext = ""
		}
		name = strings.ToValidUTF8(name[:120-len(ext)], "") + ext
	}
	return fmt.Sprintf("%d-%s", uid, cmp.Or(name, "attachment"))
}
