package linesearch

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Mode is what a scan finds.
type Mode string

// The modes.
const (
	Content Mode = "content" // the lines that match
	Files   Mode = "files"   // the files with a line that matches
	Count   Mode = "count"   // the number of matching lines in each file
)

// Scan searches files on several cores. Its law: workers take runs of files from
// the front of the list, so the finished files are nearly a prefix of it. Once the
// finished prefix alone holds more than the limit, no worker begins another run,
// and results behind the limit are dropped. So the result is that of one worker
// that goes through the list and stops, whatever the number of cores. Files that
// cannot be read, or are binary, are skipped.
type Scan struct {
	Matcher *Matcher
	Mode    Mode
	Context int           // lines to return before and after each that matches
	Limit   int           // lines to return in mode Content, otherwise files
	Source  func() Source // makes the source of one worker
}

// Source opens files for one worker.
type Source interface {
	Open(name string) (f File, size int64, err error)
	Close() error
}

// File is a file that is searched.
type File interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// FileResult is what was found in one file.
type FileResult struct {
	Path  string
	Count int // of lines that match; in mode Files 1
	Lines []Line
}

// Line is a line that matches, or is context of one.
type Line struct {
	Number int
	Match  bool
	Text   string // valid UTF-8, cut if it is long
}

const (
	runLength  = 16 // files that a worker takes at a time
	maxWorkers = 8
)

// Run searches the files and returns the results in their order. truncated reports
// that there are more than the limit.
func (s Scan) Run(ctx context.Context, files []string) (found []*FileResult, truncated bool, err error) {
	p := &progress{
		Scan: s, files: files,
		found: make([]*FileResult, len(files)),
		done:  make([]bool, (len(files)+runLength-1)/runLength),
	}
	var wg sync.WaitGroup
	for range min(maxWorkers, runtime.GOMAXPROCS(0), len(p.done)) {
		wg.Go(func() { p.work(ctx) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	found, truncated = p.cut()
	return found, truncated, nil
}

// progress is the state of one scan.
type progress struct {
	Scan
	files []string
	next  atomic.Int64
	stop  atomic.Bool

	mu     sync.Mutex
	found  []*FileResult // by file; nil if nothing matched
	done   []bool        // by run
	front  int           // finished runs before the first unfinished one
	amount int           // the weight of their results
}

func (p *progress) work(ctx context.Context) {
	w := &worker{Scan: p.Scan, ctx: ctx, source: p.Source(), buf: make([]byte, chunkSize)}
	defer w.source.Close()
	for !p.stop.Load() && ctx.Err() == nil {
		run := int(p.next.Add(1)) - 1
		if run >= len(p.done) {
			return
		}
		from, to := p.bounds(run)
		for i := from; i < to && ctx.Err() == nil; i++ {
			p.found[i] = w.file(p.files[i])
		}
		p.finish(run)
	}
}

func (p *progress) bounds(run int) (from, to int) {
	return run * runLength, min((run+1)*runLength, len(p.files))
}

// finish records a finished run, and stops the scan if the front has enough.
func (p *progress) finish(run int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[run] = true
	for p.front < len(p.done) && p.done[p.front] {
		from, to := p.bounds(p.front)
		for _, f := range p.found[from:to] {
			p.amount += p.weight(f)
		}
		p.front++
	}
	if p.amount > p.Limit {
		p.stop.Store(true)
	}
}

// weight is what a file counts against the limit: its lines, or one.
func (s Scan) weight(f *FileResult) int {
	switch {
	case f == nil:
		return 0
	case s.Mode == Content:
		return f.Count
	default:
		return 1
	}
}

// cut returns the results within the limit.
func (p *progress) cut() (kept []*FileResult, truncated bool) {
	left := p.Limit
	for _, f := range p.found[:min(p.front*runLength, len(p.files))] {
		w := p.weight(f)
		switch {
		case w == 0:
		case left == 0:
			return kept, true
		case w > left:
			return append(kept, f.first(left, p.Context)), true
		default:
			kept = append(kept, f)
			left -= w
		}
	}
	return kept, false
}

// first returns the first n lines that match, and their context.
func (f *FileResult) first(n, context int) *FileResult {
	cut := &FileResult{Path: f.Path, Count: n}
	last := 0
	for _, l := range f.Lines {
		switch {
		case l.Match && n > 0:
			n--
			last = l.Number
		case n == 0 && (l.Match || l.Number > last+context):
			return cut
		}
		cut.Lines = append(cut.Lines, l)
	}
	return cut
}

// worker searches one file after another with the same buffers.
type worker struct {
	Scan
	ctx    context.Context
	source Source
	buf    []byte
	low    []byte // buf in lower case
	finder candidateFinder
}

// file searches one file. It returns nil if nothing matches.
func (w *worker) file(name string) *FileResult {
	f, size, err := w.source.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	t := fileSearch{worker: w, r: f, size: size, given: -1, found: &FileResult{Path: name}}
	if err := t.search(f); err != nil || t.found.Count == 0 {
		return nil
	}
	return t.found
}

// Skip leaves out the first n results: lines that match in mode Content, otherwise
// files.
func Skip(found []*FileResult, mode Mode, context, n int) []*FileResult {
	if mode != Content {
		return found[min(n, len(found)):]
	}
	for i, f := range found {
		if n == 0 {
			return found[i:]
		}
		if f.Count > n {
			return append([]*FileResult{f.after(n, context)}, found[i+1:]...)
		}
		n -= f.Count
	}
	return nil
}

// after returns the lines without the first n that match, and their context.
func (f *FileResult) after(n, context int) *FileResult {
	rest := &FileResult{Path: f.Path, Count: f.Count - n}
	for i, l := range f.Lines {
		if l.Match {
			if n--; n < 0 {
				for i > 0 && !f.Lines[i-1].Match && f.Lines[i-1].Number >= l.Number-context {
					i--
				}
				rest.Lines = f.Lines[i:]
				return rest
			}
		}
	}
	return rest
}

// Fit returns the first lines that match and fit in room bytes, at least one, with
// their context; the result itself if all do.
func (f *FileResult) Fit(room, context int) *FileResult {
	matches, size := 0, len(f.Path)
	for _, l := range f.Lines {
		if l.Match {
			matches++
		}
		if size += len(l.Text) + 8; size > room && matches > 0 {
			if matches == f.Count {
				return f
			}
			return f.first(matches, context)
		}
	}
	return f
}
