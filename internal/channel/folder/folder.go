// Package folder takes events in from a folder: each file that is put there is one.
//
// Law: a file is an event once it is complete, which it is taken to be when two looks
// in a row find it with the same size and time. It is an event once for each content
// that it has, by its path, size and time. What is there at the first look is not news,
// unless the options say so. The folder is reached through its root, and neither it nor
// a file is reached through a link: whoever writes there could have files read that only
// the kernel may read.
package folder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"callgate/internal/channel"
	"callgate/internal/nofollow"
	"callgate/tool"
)

// Options is where files are looked for.
type Options struct {
	Root     *os.Root // stays open while the receiver runs
	Dir      string   // in the root, with slashes
	Pattern  string   // of names, as path.Match has them; "": any that do not begin with a dot
	Interval time.Duration
	MaxBody  int64 // bytes of a file that an event holds
	First    bool  // what is there at the first look is news
	State    channel.State
	Report   func(error) // may be nil
}

// maxFiles bounds how many files of a folder are looked at.
const maxFiles = 10_000

// New makes a receiver.
func New(o Options) channel.Receiver {
	s := &source{opt: o, before: map[string]string{}}
	return &channel.Poller{Interval: o.Interval, Check: s.check, Report: o.Report}
}

type source struct {
	opt    Options
	before map[string]string // what the last look found, by name
}

const op = "folder.Receive"

// check looks at the folder once.
func (s *source) check(ctx context.Context, keep func(channel.Event) error) (time.Duration, error) {
	data, err := s.opt.State.Load(ctx)
	if err != nil {
		return 0, err
	}
	var seen map[string]string // the marks of files that were passed on, by name
	first := json.Unmarshal(data, &seen) != nil || seen == nil
	if first {
		seen = map[string]string{}
	}
	dir, err := s.open()
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	infos, err := s.list(dir)
	if err != nil {
		return 0, err
	}
	found := map[string]string{}
	for name, info := range infos {
		found[name] = markOf(info)
	}
	changed := first
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch mark := found[name]; {
		case seen[name] == mark:
		case first && !s.opt.First:
			seen[name] = mark
		case s.before[name] == mark:
			if err := s.pass(dir, infos[name], keep); err != nil {
				return 0, err
			}
			seen[name], changed = mark, true
		}
	}
	s.before = found
	for name := range seen {
		if _, there := found[name]; !there {
			delete(seen, name)
			changed = true
		}
	}
	if !changed {
		return 0, nil
	}
	if data, err = json.Marshal(seen); err != nil {
		return 0, err
	}
	return 0, s.opt.State.Save(ctx, data)
}

// open opens the folder.
func (s *source) open() (*os.Root, error) {
	dir, err := nofollow.OpenDir(s.opt.Root, s.opt.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, tool.Errorf(op, tool.Unavailable, "there is no folder %s", s.opt.Dir).WithHint("make it")
	case errors.Is(err, nofollow.ErrLink):
		return nil, tool.Errorf(op, tool.Denied, "the folder %s is a link, or lies behind one", s.opt.Dir).
			WithHint("name the folder that it leads to in the app file")
	case err != nil:
		return nil, tool.Errorf(op, tool.Failed, "the folder %s cannot be opened: %w", s.opt.Dir, err)
	}
	return dir, nil
}

// markOf changes with the content of a file.
func markOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// list returns the files of the folder, by name.
func (s *source) list(root *os.Root) (map[string]fs.FileInfo, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, tool.Errorf(op, tool.Failed, "the folder %s cannot be opened: %w", s.opt.Dir, err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, tool.Errorf(op, tool.Failed, "the folder %s cannot be read: %w", s.opt.Dir, err)
	}
	if len(entries) > maxFiles {
		return nil, tool.Errorf(op, tool.Failed, "the folder %s has more than %d files", s.opt.Dir, maxFiles).
			WithHint("move those away that were seen")
	}
	found := map[string]fs.FileInfo{}
	for _, e := range entries {
		if !s.matches(e.Name()) {
			continue
		}
		if info, err := root.Lstat(e.Name()); err == nil && info.Mode().IsRegular() {
			found[e.Name()] = info
		}
	}
	return found, nil
}

func (s *source) matches(name string) bool {
	if s.opt.Pattern == "" {
		return !strings.HasPrefix(name, ".")
	}
	ok, err := path.Match(s.opt.Pattern, name)
	return err == nil && ok
}

// pass passes on a file that was found.
func (s *source) pass(dir *os.Root, found fs.FileInfo, keep func(channel.Event) error) error {
	name := found.Name()
	at := path.Join(s.opt.Dir, name)
	f, err := nofollow.Open(dir, name, found)
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the file %s cannot be opened: %w", at, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || markOf(info) != markOf(found) {
		return tool.Errorf(op, tool.Unavailable, "the file %s is being written", at)
	}
	body, err := io.ReadAll(io.LimitReader(f, s.opt.MaxBody))
	if err != nil {
		return tool.Errorf(op, tool.Unavailable, "the file %s cannot be read: %w", at, err)
	}
	event := channel.Event{
		ID: channel.HashID(at, markOf(info)), At: time.Now(), Title: "a file was put into " + path.Clean(s.opt.Dir),
		Facts: []channel.Fact{{Name: "path", Value: at}, {Name: "changed", Value: info.ModTime().UTC().Format(time.RFC3339)}},
		Type:  mime.TypeByExtension(path.Ext(name)), Body: body,
	}
	if info.Size() > int64(len(body)) {
		event.Size = int(info.Size())
	}
	return keep(event)
}
