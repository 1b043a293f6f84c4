package acp

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/internal/visible"
	"callgate/internal/visible/arguments"
	"callgate/llm"
	"callgate/tool"
)

const (
	maxTitle = 120     // characters of a title
	maxDiff  = 1 << 20 // bytes of a file whose difference is shown
)

// messageOf makes the user's message of what the editor sends: words, pictures, and what
// the user put in beside them.
func messageOf(blocks []sdk.ContentBlock) (protocol.SendMessage, error) {
	var m protocol.SendMessage
	var text strings.Builder
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil {
				return m, tool.Errorf("acp.Prompt", tool.Invalid, "the data of a picture are not base64")
			}
			m.Images = append(m.Images, llm.Image{MIME: b.Image.MimeType, Data: data})
		case b.ResourceLink != nil:
			text.WriteString("@" + pathOf(b.ResourceLink.Uri))
		case b.Resource != nil:
			if r := b.Resource.Resource.TextResourceContents; r != nil {
				text.WriteString("\n\n--- " + pathOf(r.Uri) + "\n" + r.Text + "\n---\n\n")
				continue
			}
			return m, tool.Errorf("acp.Prompt", tool.Invalid, "files that are not text cannot be sent").
				WithHint("put the file into the folder, and name it")
		default:
			return m, tool.Errorf("acp.Prompt", tool.Invalid, "the message has a part that is not supported").
				WithHint("words, pictures, links to files and texts are")
		}
	}
	if m.Text = text.String(); strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 {
		return m, tool.Errorf("acp.Prompt", tool.Invalid, "the message is empty")
	}
	return m, nil
}

// pathOf is the path of a file's URI; other addresses stay as they are.
func pathOf(uri string) string { return strings.TrimPrefix(uri, "file://") }

// target is what a call is about: of one that another tool makes, that one.
func target(c protocol.AgentCall) (name string, args json.RawMessage) {
	name = strings.ReplaceAll(c.Name, "__", ".")
	var inner struct {
		Name   string          `json:"name"`
		Params json.RawMessage `json:"params"`
	}
	if strings.HasSuffix(name, "execute_tool") && json.Unmarshal(c.Args, &inner) == nil && inner.Name != "" {
		return strings.ReplaceAll(inner.Name, "__", "."), inner.Params
	}
	return name, c.Args
}

// startOf shows that a call begins.
func startOf(c protocol.AgentCall, workspace string, status sdk.ToolCallStatus) sdk.SessionUpdate {
	name, args := target(c)
	opts := []sdk.ToolCallStartOpt{sdk.WithStartKind(kindOf(name)), sdk.WithStartStatus(status)}
	if json.Valid(args) {
		opts = append(opts, sdk.WithStartRawInput(args))
	}
	if path := pathIn(args, workspace); path != "" {
		opts = append(opts, sdk.WithStartLocations([]sdk.ToolCallLocation{{Path: path}}))
	}
	return sdk.StartToolCall(sdk.ToolCallId(c.ID), titleFor(name, args), opts...)
}

// titleFor is a call on one line.
func titleFor(name string, args json.RawMessage) string {
	return strings.TrimSpace(visible.Clip(name, maxTitle) + " " + arguments.Brief(args, maxTitle))
}

// kinds are what tools do, by how their names begin; the first that fits counts.
var kinds = []struct {
	prefix string
	kind   sdk.ToolKind
}{
	{"filesystem.read", sdk.ToolKindRead}, {"filesystem.list", sdk.ToolKindRead},
	{"filesystem.glob", sdk.ToolKindSearch}, {"filesystem.grep", sdk.ToolKindSearch},
	{"filesystem.delete", sdk.ToolKindDelete}, {"filesystem.move", sdk.ToolKindMove},
	{"filesystem.", sdk.ToolKindEdit}, {"shell.", sdk.ToolKindExecute},
	{"web.", sdk.ToolKindFetch}, {"http.", sdk.ToolKindFetch}, {"browser.", sdk.ToolKindFetch},
	{"memory.", sdk.ToolKindThink}, {"search_tools", sdk.ToolKindSearch}, {"get_tool", sdk.ToolKindSearch},
	{"list_categories", sdk.ToolKindSearch}, {"browse_category", sdk.ToolKindSearch},
}

func kindOf(name string) sdk.ToolKind {
	for _, k := range kinds {
		if strings.HasPrefix(name, k.prefix) {
			return k.kind
		}
	}
	return sdk.ToolKindOther
}

// isMemory reports whether a call may have changed the memory.
func isMemory(c protocol.AgentCall) bool {
	name, _ := target(c)
	return strings.HasPrefix(name, "memory.") || strings.Contains(string(c.Args), `"memory.`)
}

// pathIn is the file that arguments name, or "".
func pathIn(args json.RawMessage, workspace string) string {
	var in struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(args, &in) != nil || in.Path == "" {
		return ""
	}
	if !filepath.IsAbs(in.Path) {
		in.Path = filepath.Join(workspace, in.Path)
	}
	return filepath.Clean(in.Path)
}

// textContent is a text as the content of a call.
func textContent(text string) []sdk.ToolCallContent {
	return []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(text))}
}

// resultContent is what a call answered.
func resultContent(r *tool.Result) []sdk.ToolCallContent {
	if r == nil {
		return textContent("the kernel did not say how it ended")
	}
	content := contentOf(r.Content)
	if len(content) == 0 || r.Error != nil {
		content = append(textContent(visible.Lines(r.Summary)), content...)
	}
	return content
}

func contentOf(list []tool.Content) (out []sdk.ToolCallContent) {
	for _, c := range list {
		switch {
		case c.Type == "image" && len(c.Data) > 0:
			out = append(out, sdk.ToolContent(sdk.ImageBlock(base64.StdEncoding.EncodeToString(c.Data), c.MIME)))
		case c.Text != "":
			out = append(out, textContent(visible.Lines(c.Text))...)
		}
	}
	return out
}

// change is a call of filesystem.write or filesystem.edit, as far as it can be shown as a
// difference.
type change struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
	Mode    string  `json:"mode"`
	Old     *string `json:"old"`
	New     *string `json:"new"`
}

// difference shows what a call would change; nil: that is not known here.
func difference(name string, args json.RawMessage, workspace string) []sdk.ToolCallContent {
	var c change
	path := pathIn(args, workspace)
	if json.Unmarshal(args, &c) != nil || path == "" {
		return nil
	}
	switch {
	case name == "filesystem.edit" && c.Old != nil && c.New != nil:
		return []sdk.ToolCallContent{sdk.ToolDiffContent(path, *c.New, *c.Old)}
	case name != "filesystem.write" || c.Content == nil || c.Mode != "" && c.Mode != "overwrite":
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return []sdk.ToolCallContent{sdk.ToolDiffContent(path, *c.Content)}
	case err != nil || !info.Mode().IsRegular() || info.Size() > maxDiff:
		return nil
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return []sdk.ToolCallContent{sdk.ToolDiffContent(path, *c.Content, string(before))}
}

// titleOf is the title of a conversation; nil: it has none.
func titleOf(i protocol.ConversationInfo) *string {
	if i.Title == "" {
		return nil
	}
	return sdk.Ptr(visible.Clip(i.Title, maxTitle))
}
