// Package seen remembers which files a conversation has read, so that it does not
// overwrite what it has not seen.
//
// The law: a conversation of an agent may replace a file that exists only if it read
// or wrote the file before, and the file is as it was then; it may change a part of
// a file that it never read, but not of one that changed since. Who calls without an
// agent (the command line, a client of MCP or HTTP) is a program or a person who
// knows what it does, and nothing is remembered of it.
//
// What is remembered lasts as long as the kernel, and is bounded: a conversation
// that outlives either reads again.
package seen

import (
	"container/list"
	"io/fs"
	"os"
	"sync"

	"callgate/tool"
)

// maxFiles limits the files that are remembered, those of all conversations together.
const maxFiles = 10_000

// Files are the files that conversations have seen. The zero value is ready, and any
// number of goroutines can use it.
type Files struct {
	mu     sync.Mutex
	known  map[key]*list.Element
	latest list.List // of file, the one seen last in front
}

type key struct{ session, path string }

type file struct {
	key
	info fs.FileInfo
}

// View is what one call sees of the files. The zero view remembers nothing and
// refuses nothing.
type View struct {
	files   *Files
	session string
}

// View returns the view of a call: that of its conversation, if an agent makes it.
func (f *Files) View(p tool.Principal) View {
	if f == nil || p.Agent == "" || p.Session == "" || p.Daemon {
		return View{}
	}
	return View{f, p.Session}
}

// State is what a conversation knows of a file.
type State int

// The states.
const (
	Unknown State = iota // it was not read
	Changed              // it is not as it was read
	Current              // it is as it was read
)

// State compares a file with what the conversation saw of it. The path is absolute
// and canonical.
func (v View) State(path string, now fs.FileInfo) State {
	if v.files == nil {
		return Current
	}
	v.files.mu.Lock()
	defer v.files.mu.Unlock()
	e := v.files.known[key{v.session, path}]
	if e == nil {
		return Unknown
	}
	was := e.Value.(file).info
	if os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) {
		return Current
	}
	return Changed
}

// Note remembers that the conversation saw a file as it is now.
func (v View) Note(path string, now fs.FileInfo) {
	if v.files == nil || now == nil {
		return
	}
	f := v.files
	f.mu.Lock()
	defer f.mu.Unlock()
	k := key{v.session, path}
	if e := f.known[k]; e != nil {
		e.Value = file{k, now}
		f.latest.MoveToFront(e)
		return
	}
	if f.known == nil {
		f.known = make(map[key]*list.Element)
	}
	f.known[k] = f.latest.PushFront(file{k, now})
	if f.latest.Len() > maxFiles {
		f.remove(f.latest.Back())
	}
}

// Forget removes what a conversation saw.
func (f *Files) Forget(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := f.latest.Front(); e != nil; {
		next := e.Next()
		if e.Value.(file).session == session {
			f.remove(e)
		}
		e = next
	}
}

func (f *Files) remove(e *list.Element) {
	delete(f.known, e.Value.(file).key)
	f.latest.Remove(e)
}
