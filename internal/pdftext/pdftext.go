// Package pdftext reads the text of a PDF, in a process of its own.
//
// A PDF is hostile input: it may ask for any amount of memory, nest without
// end, or lead its reader in a circle. The library that parses it answers with
// a panic at best, and takes the whole process down at worst. So a helper
// process parses it: this same program, started again inside the sandbox,
// without network and files, with little time and a bound on its memory.
// Whatever happens to the helper, the kernel only sees a PDF that could not be
// read.
//
// A program that reads PDFs calls [RunHelper] first in main. A process is a
// helper if its only argument is the marker; the PDF comes on its standard
// input and the text leaves on its standard output.
package pdftext

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"callgate/internal/sandbox"
	"callgate/tool"
)

// marker is the only argument of a helper.
const marker = "callgate: pdf reader"

const (
	maxPages = 500
	maxText  = 8 << 20   // bytes, of all pages
	maxHeap  = 768 << 20 // bytes
	maxTime  = 20 * time.Second
)

// Document is the text of a PDF.
type Document struct {
	Title  string   `json:"title,omitempty"`
	Author string   `json:"author,omitempty"`
	Count  int      `json:"count"` // pages in the file
	Pages  []string `json:"pages"` // the text of each page that was read
	Cut    bool     `json:"cut"`   // there is more than was read
	Bad    int      `json:"bad"`   // pages that could not be read
	Error  string   `json:"error,omitempty"`
}

// canStart says that this program runs helpers. Without it, Read would start a
// program that takes a helper's argument for one of its own.
var canStart atomic.Bool

// RunHelper runs a helper if this process was started as one, and reports
// whether it was; main then returns. It must come before anything else in main,
// and in TestMain of tests that read PDFs.
func RunHelper() (handled bool) {
	if len(os.Args) == 2 && os.Args[1] == marker {
		serve(os.Stdin, os.Stdout)
		return true
	}
	canStart.Store(true)
	return false
}

// Read reads the text of a PDF. The error of a PDF that cannot be read has the
// kind Failed.
func Read(ctx context.Context, data []byte) (*Document, error) { return read(ctx, data, maxTime) }

func read(ctx context.Context, data []byte, limit time.Duration) (*Document, error) {
	if !canStart.Load() {
		return nil, tool.Errorf("pdftext.Read", tool.Unavailable, "this program cannot read PDFs").
			WithHint("its main must begin with callgate.RunHelpers, so that it can be started as a PDF reader")
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, failed("its reader cannot be started: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := &limitedBuffer{limit: 2 * maxText}
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
		return nil, failed("it is not read within %v", limit)
	case exit.Code == exitMemory || exit.Limit != "":
		return nil, failed("it needs more memory than it may have")
	case exit.Code == exitOpening:
		return nil, failed("it cannot be opened within %v; its objects may refer to themselves", maxOpening)
	case exit.Code != 0 || json.Unmarshal(out.Bytes(), &doc) != nil:
		return nil, failed("its reader failed")
	case doc.Error != "":
		return nil, failed("%s", tool.Truncate(doc.Error))
	}
	return &doc, nil
}

func failed(format string, args ...any) *tool.Error {
	e := tool.Errorf("pdftext.Read", tool.Failed, format, args...)
	e.Message = "the PDF cannot be read: " + e.Message
	return e.WithHint("use another program that understands it")
}

// limitedBuffer keeps what is written to it, up to a limit.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

// Write keeps what fits. It never fails: a writer that stops early would hide
// what the helper did.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if left := b.limit - b.Len(); left > 0 {
		_, _ = b.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}
