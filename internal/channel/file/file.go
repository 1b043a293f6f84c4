// Package file appends messages to a file.
//
// Law: a message is appended in one write, as one line of JSON or as text under a line
// with its time and ID, and is on disk when Send returns. A message that may have been
// written before is looked for by its ID, and not written twice. A line that somebody
// left unfinished is ended first, and does not count. The file is reached through its
// root, so it is never outside of that, and through no link, neither of its own nor of
// its folders: the path that was judged is the one that is written. Who shares the file
// with others holds their lock meanwhile: an append loses nobody's lines, but a writer
// that replaces the file would lose this one.
package file

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"callgate/internal/channel"
	"callgate/internal/nofollow"
	"callgate/tool"
)

// The forms of a message.
const (
	JSON = "json"
	Text = "text"
)

// Options is which file a channel writes.
type Options struct {
	Root   *os.Root // stays open as long as the sender is used
	Path   string   // in the root, with slashes; no part of it is a link
	Format string   // "": JSON
	// Check says whether the path may still be written, once the file is open; nil: it may.
	Check func() error
}

// Sender appends to a file.
type Sender struct {
	opt Options
	mu  sync.Mutex // one message after the other
}

var _ channel.Sender = (*Sender)(nil)

// New makes a sender.
func New(o Options) *Sender { return &Sender{opt: o} }

const op = "file.Send"

// Send appends a message, unless it is there.
func (s *Sender) Send(_ context.Context, m channel.Message) error {
	entry, err := s.entry(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.open()
	if err != nil {
		return s.failed("opened", err)
	}
	defer f.Close()
	if m.Attempt > 1 {
		if there, err := s.has(f, m.ID); err != nil || there {
			return err
		}
	}
	if begun, err := unfinished(f); err != nil {
		return s.failed("read", err)
	} else if begun {
		entry = append([]byte("\n"), entry...)
	}
	if _, err := f.Write(entry); err != nil {
		return s.failed("written", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return s.failed("written", err)
	}
	return nil
}

// open opens the file, and makes it and its folders where they are missing.
func (s *Sender) open() (*os.File, error) {
	dir, err := nofollow.MakeDir(s.opt.Root, path.Dir(s.opt.Path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := nofollow.Append(dir, path.Base(s.opt.Path))
	if err != nil || s.opt.Check == nil {
		return f, err
	}
	if err := s.opt.Check(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// line is a message as a line of JSON.
type line struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Channel string    `json:"channel,omitempty"`
	App     string    `json:"app,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Title   string    `json:"title,omitempty"`
	Text    string    `json:"text"`
}

func (s *Sender) entry(m channel.Message) ([]byte, error) {
	if s.opt.Format == Text {
		title := m.TitleOr("")
		if title != "" {
			title = " " + title
		}
		return []byte(head(m.At, m.ID) + title + "\n" + strings.TrimRight(m.Text, "\n") + "\n\n"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(line{m.ID, m.At.UTC(), m.Channel, m.App, m.Agent, m.Title, m.Text})
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the message cannot be written as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// head is the line above a message in text.
func head(at time.Time, id string) string {
	return "[" + at.UTC().Format(time.RFC3339) + " " + id + "]"
}

// has reports whether a message is in the file, whole.
func (s *Sender) has(f *os.File, id string) (bool, error) {
	r := bufio.NewReader(io.NewSectionReader(f, 0, 1<<62))
	for {
		text, err := r.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			return false, nil // a line without an end does not count
		case err != nil:
			return false, s.failed("read", err)
		}
		if s.opt.Format == Text {
			if first, _, ok := strings.Cut(text, "]"); ok && first[0] == '[' && strings.HasSuffix(first, " "+id) {
				return true, nil
			}
			continue
		}
		var l struct{ ID string }
		if strings.Contains(text, id) && json.Unmarshal([]byte(text), &l) == nil && l.ID == id {
			return true, nil
		}
	}
}

// unfinished reports whether the last line of a file has no end.
func unfinished(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return last[0] != '\n', err
}

// failed is the error of a file that cannot be used.
func (s *Sender) failed(what string, err error) error {
	kind := tool.Failed
	var refused *tool.Error
	switch {
	case errors.As(err, &refused):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EIO):
		kind = tool.Unavailable // somebody may make room
	case errors.Is(err, nofollow.ErrChanged):
		kind = tool.Unavailable // it may stay next time
	case errors.Is(err, fs.ErrPermission), errors.Is(err, nofollow.ErrLink), errors.Is(err, nofollow.ErrNames):
		kind = tool.Denied
	}
	return tool.Errorf(op, kind, "the file %s cannot be %s: %w", s.opt.Path, what, err)
}
