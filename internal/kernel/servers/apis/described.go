package apis

import (
	"bytes"
	"context"
	"sync"
	"time"

	appapis "callgate/internal/app/apis"
	"callgate/internal/source/openapi"
)

// described is an API, and what was made of its document. Apps that say the same of it share it.
type described struct {
	api appapis.API
	set *Set

	fetching sync.Mutex // held while the document is asked for; taken before reading
	reading  sync.Mutex // held while the document is read

	mu      sync.Mutex // guards the fields below
	current state
	asking  chan struct{} // closed when the answer is there; nil: nobody asks
	failed  time.Time     // when it last could not be had
	closed  bool
}

// state is what is known of an API at one moment.
type state struct {
	made    *openapi.API // nil: nothing
	at      time.Time    // when its server last said that the document is so
	problem string       // why there is nothing, or nothing newer
}

// problems says what is wrong with the document, each in a line.
func (s state) problems() (all []string) {
	if s.problem != "" {
		all = append(all, s.problem)
	}
	if s.made != nil {
		all = append(all, s.made.Problems...)
	}
	return all
}

func (d *described) now() state {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current
}

// set takes a state in the place of the one before.
func (d *described) take(s state) {
	d.mu.Lock()
	old := d.current.made
	d.current = s
	closed := d.closed
	d.mu.Unlock()
	if old != nil && old != s.made {
		old.Close()
	}
	if closed && s.made != nil {
		s.made.Close()
	}
}

func (d *described) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed = true; d.current.made != nil {
		d.current.made.Close()
	}
}

// load reads the document if that was not done yet, and has one of the network asked for that is
// too old.
func (o *source) load(ctx context.Context) {
	if !o.api.IsRemote() {
		o.readFile()
		return
	}
	o.readKept()
	refresh := o.api.Refresh
	now := o.now()
	if time.Since(now.at) < refresh && now.made != nil {
		return
	}
	done := o.ask()
	if now.made != nil {
		return // what is there counts meanwhile
	}
	enough := time.NewTimer(firstWait)
	defer enough.Stop()
	select {
	case <-done:
	case <-enough.C:
	case <-ctx.Done():
	}
}

// isKnown reports whether the document was read, or cannot be.
func (d *described) isKnown() bool {
	now := d.now()
	return now.made != nil || now.problem != ""
}

// readFile reads a document that is a file.
func (d *described) readFile() {
	d.reading.Lock()
	defer d.reading.Unlock()
	if d.isKnown() {
		return
	}
	if d.api.Problem != "" {
		d.take(state{problem: d.api.Problem})
		return
	}
	made, err := openapi.New(d.set.config(d.api), []byte(d.api.Text))
	if err != nil {
		d.take(state{problem: err.Error()})
		return
	}
	d.take(state{made: made})
}

// readKept reads the copy on disk of a document of the network, if nothing is known yet.
func (d *described) readKept() {
	if d.isKnown() {
		return // who opens a session does not wait while a newer document is read
	}
	d.reading.Lock()
	defer d.reading.Unlock()
	if d.isKnown() {
		return
	}
	kept := openapi.Kept(d.set.opt.Dir, d.api.Document)
	if kept == nil {
		return
	}
	if made, err := openapi.New(d.set.config(d.api), kept.Data); err == nil {
		d.take(state{made: made, at: kept.At})
	}
}

// retryAfter is how long a document that cannot be had is not asked for again by itself.
const retryAfter = time.Minute

// ask asks for the document in the background, unless somebody does already. The channel is closed
// when the answer is there.
func (d *described) ask() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asking != nil {
		return d.asking
	}
	done := make(chan struct{})
	if time.Since(d.failed) < retryAfter {
		close(done)
		return done
	}
	d.asking = done
	end := func() {
		d.mu.Lock()
		d.asking = nil
		d.mu.Unlock()
		close(done)
	}
	began := d.set.opt.Go(func(ctx context.Context) {
		defer end()
		if err := d.refresh(ctx); err != nil {
			d.set.opt.Log.Warn("the document of an API cannot be had", "api", d.api.Name, "error", err)
		}
	})
	if !began { // the kernel closes
		d.asking = nil
		close(done)
	}
	return done
}

// refresh asks for the document and takes it, or says why not.
func (d *described) refresh(ctx context.Context) error {
	d.fetching.Lock()
	defer d.fetching.Unlock()
	kept := openapi.Kept(d.set.opt.Dir, d.api.Document)
	got, err := openapi.Fetch(ctx, d.set.config(d.api), kept)
	d.reading.Lock()
	defer d.reading.Unlock()
	before := d.now()
	if err != nil {
		d.fail(before, err)
		return err
	}
	changed := kept == nil || !bytes.Equal(got.Data, kept.Data)
	made := before.made
	if made == nil || changed {
		if made, err = openapi.New(d.set.config(d.api), got.Data); err != nil {
			d.fail(before, err)
			return err
		}
	}
	if err := got.Keep(d.set.opt.Dir, changed); err != nil { // it is asked for again at the next start
		d.set.opt.Log.Warn("the document of an API cannot be kept", "api", d.api.Name, "error", err)
	}
	if d.take(state{made: made, at: got.At}); made != before.made {
		d.set.changed(d)
	}
	return nil
}

// fail notes why there is nothing newer.
func (d *described) fail(before state, err error) {
	d.mu.Lock()
	d.failed = time.Now()
	d.mu.Unlock()
	problem := err.Error()
	if before.made != nil {
		problem += "; what it said on " + before.at.UTC().Format(time.DateTime) + " counts until then"
	}
	d.take(state{made: before.made, at: before.at, problem: problem})
}
