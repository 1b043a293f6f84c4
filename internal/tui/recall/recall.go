// Package recall keeps what a user said in a folder, for the chats that come after.
//
// # Law
//
//   - The file is for its owner alone, and has at most MaxEntries texts of at most
//     MaxText bytes each; the oldest go first.
//   - What looks like a key, a token or a password is masked before it is written. A
//     text that begins with a space is not kept, as in a shell.
//   - A file that cannot be read or written costs the history, never the chat.
package recall

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"callgate/internal/agent/filter"
	"callgate/internal/durable"
)

// The bounds of a file.
const (
	MaxEntries = 500
	MaxText    = 8 << 10
	maxFile    = 4 << 20
)

// File is the history of one folder. A nil File keeps nothing.
type File struct {
	path  string
	masks *filter.Filter
	texts []string // as they were read, the oldest first
}

// entry is one line of the file.
type entry struct {
	Text string `json:"text"`
}

// Open reads the history of a workspace, kept below a folder.
func Open(folder, workspace string) *File {
	sum := sha256.Sum256([]byte(workspace))
	masks, err := filter.New([]filter.Rule{{Secrets: true, Input: true}})
	if err != nil {
		return nil
	}
	f := &File{path: filepath.Join(folder, hex.EncodeToString(sum[:12])+".jsonl"), masks: masks}
	info, err := os.Lstat(f.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 2*maxFile {
		return f
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return f
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxFile)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Text != "" {
			f.texts = append(f.texts, e.Text)
		}
	}
	if over := len(f.texts) - MaxEntries; over > 0 || len(data) > maxFile {
		f.texts = f.texts[max(over, 0):]
		f.rewrite()
	}
	return f
}

// Texts returns what was said before, the oldest first.
func (f *File) Texts() []string {
	if f == nil {
		return nil
	}
	return f.texts
}

// Add keeps a text.
func (f *File) Add(text string) error {
	if f == nil || text == "" || strings.HasPrefix(text, " ") || len(text) > MaxText {
		return nil
	}
	masked, err := f.masks.Input(text)
	if err != nil {
		return nil
	}
	line, err := json.Marshal(entry{masked})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n')) // one write, so that two chats do not mix their lines
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func (f *File) rewrite() {
	var b bytes.Buffer
	for _, text := range f.texts {
		if line, err := json.Marshal(entry{text}); err == nil {
			b.Write(append(line, '\n'))
		}
	}
	_ = durable.Write(f.path, b.Bytes(), 0o600) // it is tried again by the next chat
}

// Search returns the index of the last text before one that contains words, or -1.
func Search(texts []string, words string, before int) int {
	words = strings.ToLower(words)
	for i := min(before, len(texts)) - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(texts[i]), words) {
			return i
		}
	}
	return -1
}
