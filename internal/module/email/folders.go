package email

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed folders.md
var foldersDoc string

const foldersOutput = `{
  "type": "object",
  "properties": {
    "folders": {"type": "array", "items": {"type": "object", "properties": {
      "name": {"type": "string"},
      "use": {"type": "string", "description": "inbox, drafts, sent, trash, junk or archive."},
      "total": {"type": "integer"}, "unread": {"type": "integer"}
    }, "required": ["name", "total", "unread"]}}
  },
  "required": ["folders"]
}`

func foldersTool(defaults func() *settings) module.Definition {
	return module.Definition{
		Name: "folders", Doc: foldersDoc, Output: foldersOutput,
		Input:    `{"type": "object", "properties": {}, "additionalProperties": false}`,
		Examples: []tool.Example{module.Example("all of them", `{}`)},
		Aliases: []string{
			"list_mailboxes", "list_labels", "list_mail_folders", "email_labels", "list the folders of my mail", "which mailboxes are there",
			"dossiers de courriel", "Mailordner", "carpetas de correo",
		},
		Tags: []string{"folders", "labels", "mailboxes", "dossiers", "Ordner", "carpetas"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{inAccount}, Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
		},
		Handler: handler(defaults, "folders", folders),
	}
}

type folderData struct {
	Name   string `json:"name"`
	Use    string `json:"use,omitempty"`
	Total  int    `json:"total"`
	Unread int    `json:"unread"`
}

func folders(ctx context.Context, c *call, _ struct{}) (*tool.Result, error) {
	m, err := c.open(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	list, err := m.Folders(true)
	if err != nil {
		return nil, err
	}
	all := make([]folderData, len(list))
	texts := make([]string, len(list))
	for i, f := range list {
		all[i] = folderData{f.Name, f.Use, f.Total, f.Unread}
		texts[i] = fmt.Sprintf("%s  %d, %d unread", fence.Value(f.Name), f.Total, f.Unread)
		if f.Use != "" && f.Use != "inbox" {
			texts[i] += "  (" + f.Use + ")"
		}
	}
	return told(amount.Of(len(all), "folder"), strings.Join(texts, "\n"), map[string]any{"folders": all})
}
