// Package pdftext reads the text of a PDF, in a process of its own.
//
// # Why a process
//
// A PDF is a program for a machine nobody can trust: it may ask for any amount
// of memory, nest without end, or lead its reader in a circle. The library that
// reads it answers with a panic at best, and with the end of the whole process
// at worst. So it is read by a second start of this same program, behind the
// walls of the sandbox, which has no network and no files, little time, and
// watches its own memory. Whatever becomes of it, the kernel only sees a PDF
// that could not be read.
//
// # Why it branches while packages are initialised
//
// Nothing has to be called for it: a program that can ask for a reader imports
// this package, and therefore can be one. A process is the reader when its only
// argument is the marker; the PDF comes on its standard input and the text
// leaves on its standard output.
package pdftext

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// marker is the whole argument list of a reader.
const marker = "callgate: pdf reader"

const (
	maxPages = 500
	maxText  = 8 << 20   // bytes, of all pages
	maxHeap  = 768 << 20 // bytes
	maxTime  = 20 * time.Second
)

// Document is what a PDF says.
type Document struct {
	Title  string   `json:"title,omitempty"`
	Author string   `json:"author,omitempty"`
	Count  int      `json:"count"` // pages in the file
	Pages  []string `json:"pages"` // the text of each, as far as they were read
	Cut    bool     `json:"cut"`   // there is more than was read
	Bad    int      `json:"bad"`   // pages that could not be read
	Error  string   `json:"error,omitempty"`
}

// Here a process that was started as the reader becomes it, and does not return.
var _ = runHelper(os.Args)

func runHelper(args []string) bool {
	if len(args) != 2 || args[1] != marker {
		return false
	}
	serve(os.Stdin, os.Stdout)
	os.Exit(0)
	return true
}

// Read reads the text of a PDF. One that cannot be read is a tool.Error of the
// kind Failed.
func Read(ctx context.Context, data []byte) (*Document, error) { return read(ctx, data, maxTime) }

func read(ctx context.Context, data []byte, limit time.Duration) (*Document, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, failed("there is no way to start its reader: %v", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil, failed("there is no way to start its reader: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &limitedBuffer{most: 2 * maxText}
	exit, err := sandbox.Run(ctx, sandbox.Spec{
		Argv:     []string{self, marker},
		Env:      []string{"GOTRACEBACK=none", "GOMAXPROCS=2", "PATH=/usr/bin:/bin"},
		Readable: []string{self},
		Stdin:    bytes.NewReader(data),
		Stdout:   out,
		Stderr:   io.Discard,
		Limits:   sandbox.Limits{Processes: 64, CPU: 2 * limit, FileSize: 1 << 20},
		Relaxed:  true,
		Grace:    time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	var doc Document
	switch {
	case exit.TimedOut:
		return nil, failed("it is not read after %v", limit)
	case exit.Code == exitMemory || exit.Limit != "":
		return nil, failed("it asks for more than it may have: memory")
	case exit.Code != 0 || json.Unmarshal(out.Bytes(), &doc) != nil:
		return nil, failed("its reader gave up on it")
	case doc.Error != "":
		return nil, failed("%s", tool.Truncate(doc.Error))
	}
	return &doc, nil
}

func failed(format string, args ...any) *tool.Error {
	e := tool.Errorf("web", tool.Failed, format, args...)
	e.Message = "the PDF cannot be read: " + e.Message
	return e.WithHint("save it with web.download, and use a program that understands it")
}

// limitedBuffer keeps no more than it may.
type limitedBuffer struct {
	bytes.Buffer
	most int
}

// Write keeps what still fits, and says that it kept everything.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		_, _ = b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
