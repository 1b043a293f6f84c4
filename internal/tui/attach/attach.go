// Package attach gives a model what a user's message names: the text of files,
// pictures, and what the user's own commands printed.
//
// # Law
//
//   - A file's text is read by the app's own tool for it, as a call of the
//     conversation: rules decide, the journal has it, and secrets are taken out. A file
//     that may not be read is sent as its name, and the user is told.
//   - A picture is read here: it is the user's own, from wherever it lies. One of the
//     workspace is read only if the rules let the tool for files read it, and if it is no
//     link that leads out: a stranger's repository does not choose what is sent.
//   - What is attached stands after the user's words, each in a tag that does not occur
//     in it, and is bounded.
package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/mention"
	"callgate/llm"
	"callgate/tool"
)

// Caller makes calls. *client.Session is one.
type Caller interface {
	Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error)
}

// The bounds of what one message attaches.
const (
	maxFiles = 20
	maxText  = 256 << 10 // bytes of one attachment
)

// ReadTool is the tool that reads a file.
const ReadTool = "filesystem.read"

// Message is what is sent, and what the user is told about it.
type Message struct {
	protocol.SendMessage
	Notes    []string // what was attached
	Problems []string // what was not, and why
}

// Files attaches the files at paths, which are absolute or relative to the
// workspace, to words.
func Files(ctx context.Context, call Caller, workspace, words string, paths []string) Message {
	m := Message{SendMessage: protocol.SendMessage{Text: words}}
	for i, path := range paths {
		if i == maxFiles {
			m.missing("only the first %d files are attached", maxFiles)
			break
		}
		full := at(workspace, path)
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			continue // its name says which; the model lists it
		}
		if IsPicture(path) {
			if m.mayRead(ctx, call, workspace, path) {
				m.picture(path, full)
			}
			continue
		}
		m.file(ctx, call, path)
	}
	return m
}

func (m *Message) attached(format string, args ...any) {
	m.Notes = append(m.Notes, "attached "+fmt.Sprintf(format, args...))
}

func (m *Message) missing(format string, args ...any) {
	m.Problems = append(m.Problems, fmt.Sprintf(format, args...))
}

// mayRead reports whether a picture may be read here, and tells why not.
func (m *Message) mayRead(ctx context.Context, call Caller, workspace, path string) bool {
	rel, err := filepath.Rel(workspace, at(workspace, path))
	if err != nil || !filepath.IsLocal(rel) {
		return true // the user named it by where it lies
	}
	top, err := filepath.EvalSymlinks(workspace)
	if err == nil {
		var real string
		if real, err = filepath.EvalSymlinks(filepath.Join(workspace, rel)); err == nil {
			rel, err = filepath.Rel(top, real)
		}
	}
	if err != nil || !filepath.IsLocal(rel) {
		m.missing("%s is not attached: it is a link to something outside the workspace", path)
		return false
	}
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil || call == nil {
		return true
	}
	r, err := call.Call(ctx, protocol.CallRequest{Name: ReadTool, Args: args, NoWait: true})
	switch {
	case err != nil:
		m.missing("only the name of %s is sent: %s", path, err)
	case r.Status == tool.Waiting:
		m.missing("only the name of %s is sent: reading it waits for a human", path)
	case r.Status == tool.Refused:
		m.missing("only the name of %s is sent: %s", path, r.Summary)
	default: // what else keeps the tool from reading it is said where it is read
		return true
	}
	return false
}

func (m *Message) picture(name, path string) {
	image, err := ReadPicture(path)
	if err != nil {
		m.missing("%s is not attached: %s", name, err)
		return
	}
	m.Images = append(m.Images, *image)
	m.attached("%s (%s)", name, amount.Bytes(len(image.Data)))
}

func (m *Message) file(ctx context.Context, call Caller, path string) {
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil || call == nil {
		return
	}
	r, err := call.Call(ctx, protocol.CallRequest{Name: ReadTool, Args: args, NoWait: true})
	switch {
	case err != nil:
		m.missing("only the name of %s is sent: %s", path, err)
		return
	case r.Status == tool.Waiting:
		m.missing("only the name of %s is sent: reading it waits for a human", path)
		return
	case r.Status != tool.Success:
		m.missing("only the name of %s is sent: %s", path, r.Summary)
		return
	}
	var text strings.Builder
	for _, c := range r.Content {
		if c.Type == "image" {
			m.Images = append(m.Images, llm.Image{MIME: c.MIME, Data: c.Data})
		}
		text.WriteString(c.Text)
	}
	m.Text += Block("file", "path", path, text.String())
	m.attached("%s (%s)", path, amount.Of(strings.Count(strings.TrimRight(text.String(), "\n"), "\n")+1, "line"))
}

// Mentioned returns the paths that a text mentions and that are there.
func Mentioned(workspace, text string) []string {
	return mention.Find(text, func(path string) bool { _, err := os.Stat(at(workspace, path)); return err == nil })
}

// Names writes the files that a text mentions as names alone, for a reader that takes
// a path as it stands.
func Names(workspace, text string) string {
	for _, path := range Mentioned(workspace, text) {
		text = strings.ReplaceAll(text, mention.Write(path), path)
	}
	return text
}

// at is where a path of a workspace is.
func at(workspace, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workspace, filepath.FromSlash(path))
}

// Block is one attachment after a message: a text in a tag with one attribute.
func Block(tag, attribute, value, text string) string {
	text = strings.TrimRight(tool.TruncateTo(text, maxText), "\n")
	name := tag
	for n := 2; strings.Contains(text, "</"+name+">"); n++ {
		name = fmt.Sprintf("%s-%d", tag, n)
	}
	value = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' {
			return ' '
		}
		return r
	}, value)
	return fmt.Sprintf("\n\n<%s %s=\"%s\">\n%s\n</%s>", name, attribute, value, text, name)
}

// Command is what a command of the user's printed, and how it ended, for the model.
func Command(line string, r *tool.Result) string {
	var text strings.Builder
	for _, c := range r.Content {
		text.WriteString(c.Text)
	}
	if text.Len() == 0 {
		text.WriteString(r.Summary)
	}
	return Block("user-command", "line", line, text.String())
}
