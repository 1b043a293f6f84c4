package relay

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/tool"
)

// Conn is a stream of messages to and from a kernel.
type Conn interface {
	io.ReadWriteCloser
	CloseWrite() error // ends the messages to the kernel
}

// Kernel is a kernel that serves the client.
type Kernel struct {
	Conn
	PID     int    // 0: not known
	CallIDs string // which IDs it gives calls for their numbers; "": it reads no numbers
}

// link is one connection to a kernel.
type link struct {
	kernel   *Kernel
	began    time.Time
	dead     chan struct{} // closed when no message comes any more
	end      func()        // closes it
	forget   func() bool   // has the relay's context keep it no longer
	answered bool          // a request of the client; guarded by the relay's lock, like the next
	broken   bool
	ids      map[string]string // of its questions: ours, by its own
	progress clock             // when a message last came, or a request was sent
}

// write sends a message. A failure shows in what is read.
func (k *link) write(o outgoing) {
	if o.line != nil && o.line.writeTo(k.kernel, o.edits...) != nil {
		k.end()
	}
}

// The bounds of connecting again.
const (
	maxConnects    = 6                      // attempts in a row that may fail
	firstPause     = 200 * time.Millisecond // between two of them; then twice as long
	introduceLimit = 30 * time.Second       // for the answer to the introduction
	maxQuick       = 5                      // kernels in a row that may end at once, without an answer
	quickEnd       = 5 * time.Second        // what counts as at once
	maxTries       = 3                      // connections that may break over one request
)

// startConnecting connects to a kernel, unless that is under way. The lock is held.
func (r *relay) startConnecting() {
	if r.connecting || r.closing {
		return
	}
	r.connecting = true
	go r.connect()
}

func (r *relay) connect() {
	defer r.settle()
	pause := firstPause
	for n := 1; ; n++ {
		err := r.attempt()
		if err == nil || r.ctx.Err() != nil {
			return
		}
		if tool.KindOf(err) == tool.Timeout { // it is there: the next request may find it awake
			r.Status("callgate: %v", err)
			r.rest(err)
			return
		}
		if tool.KindOf(err) != tool.Unavailable || n == maxConnects {
			r.fail(err)
			return
		}
		if n > 1 { // the first may have met the kernel that is just ending
			r.Status("callgate: no kernel serves yet, and it is tried again: %v", err)
		}
		select {
		case <-time.After(pause):
		case <-r.ctx.Done():
			return
		}
		pause *= 2
	}
}

// attempt makes a link, introduces the client, and sends what waits.
func (r *relay) attempt() error {
	r.mu.Lock()
	resent := r.table.last
	r.mu.Unlock()
	kernel, err := r.Connect(r.ctx, resent)
	if err != nil {
		return err
	}
	k := &link{kernel: kernel, began: time.Now(), dead: make(chan struct{}), ids: map[string]string{}}
	k.progress.set()
	k.end = sync.OnceFunc(func() { _ = kernel.Close() })
	k.forget = context.AfterFunc(r.ctx, k.end)
	go r.readKernel(k)
	go k.watch(r)
	err = r.introduce(k)
	if err == nil {
		err = r.flush(k)
	}
	if err != nil {
		k.end()
		<-k.dead
	}
	return err
}

// flush sends what waits. Then the link is the one over which messages are sent.
func (r *relay) flush(k *link) error {
	for {
		r.mu.Lock()
		if k.broken {
			r.mu.Unlock()
			return endedAtOnce(k)
		}
		if len(r.outbox) == 0 {
			r.link, r.connecting = k, false
			r.mu.Unlock()
			return nil
		}
		next := r.outbox[0]
		r.outbox[0] = outgoing{} // or the array would keep it
		if r.outbox = r.outbox[1:]; len(r.outbox) == 0 {
			r.outbox = nil
		}
		if next.of != nil && !r.mayResend(next.of, k) {
			r.mu.Unlock()
			continue
		}
		r.mu.Unlock()
		k.write(next)
	}
}

// mayResend notes that a request is sent over a link. It answers one that must not be
// sent again, and reports false. The lock is held.
func (r *relay) mayResend(of *request, k *link) bool {
	if r.table.open[of.n] != of || of.cancelled {
		return false
	}
	var why error
	switch {
	case of.line == nil:
		why = fmt.Errorf("it was too large to be kept")
	case of.tries > maxTries:
		why = fmt.Errorf("%d kernels ended while they answered it", of.tries)
	case of.mayHaveBegun() && (k.kernel.CallIDs == "" || k.kernel.CallIDs != of.callIDs):
		why = fmt.Errorf("this kernel, of another version, cannot tell")
	default:
		r.table.sent(of, k)
		return true
	}
	r.giveUp(of, why)
	return false
}

// giveUp answers a request that no kernel will answer. The lock is held.
func (r *relay) giveUp(of *request, why error) {
	r.table.remove(of)
	if !of.own && !of.cancelled {
		r.say(lostAnswer(of, r.Key.CallID(of.n), why))
	}
	r.checkEmpty()
}

// rest gives up the requests that wait for a kernel which does not answer. The next
// request asks it again.
func (r *relay) rest(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.table.waiting() {
		r.giveUp(of, err)
	}
	for _, of := range r.table.open { // of the bridge's own
		if of.over == nil {
			r.table.remove(of)
		}
	}
	r.outbox, r.connecting = nil, false
}

// fail ends the bridge: no kernel can be reached.
func (r *relay) fail(err error) {
	r.mu.Lock()
	for _, of := range r.table.waiting() {
		r.giveUp(of, err)
	}
	r.mu.Unlock()
	r.end(err)
}

// introduce tells a new kernel what the client has told an earlier one, and waits for
// its answer.
func (r *relay) introduce(k *link) error {
	r.mu.Lock()
	c := r.client
	c.subscriptions = maps.Clone(c.subscriptions) // the client may add to them meanwhile
	if c.initialize == nil || !c.answered {
		r.mu.Unlock()
		return nil // the client introduces itself
	}
	answered := make(chan *line, 1)
	r.mu.Unlock()
	r.ask(k, c.initialize, func(l *line) { answered <- l })
	ctx, cancel := context.WithTimeout(r.ctx, introduceLimit)
	defer cancel()
	select {
	case l := <-answered:
		if message := errorIn(l); message != "" {
			return tool.Errorf("relay.introduce", tool.Failed, "the kernel does not take the client any more: %s", message)
		}
	case <-k.dead:
		return endedAtOnce(k)
	case <-ctx.Done():
		return tool.Errorf("relay.introduce", tool.Timeout,
			"the kernel%s does not answer; it may be stopped", process(k))
	}
	if c.initialized != nil {
		k.write(outgoing{line: c.initialized})
	}
	if c.level != nil {
		r.ask(k, c.level, nil)
	}
	for _, l := range c.subscriptions {
		r.ask(k, l, nil)
	}
	return nil
}

// ask makes a request of the bridge's own.
func (r *relay) ask(k *link, l *line, answer func(*line)) {
	r.mu.Lock()
	of := r.table.add(l, true)
	of.answer = answer
	r.table.sent(of, k)
	o := outgoing{line: l, edits: of.edits}
	r.mu.Unlock()
	k.write(o)
}

func endedAtOnce(k *link) error {
	return tool.Errorf("relay", tool.Unavailable, "the kernel%s ended at once", process(k))
}

func process(k *link) string {
	if k.kernel.PID == 0 {
		return ""
	}
	return " (process " + strconv.Itoa(k.kernel.PID) + ")"
}

// readKernel reads the messages of a kernel to their end.
func (r *relay) readKernel(k *link) {
	lines := newLineReader(k.kernel, r.MaxMessage)
	for {
		l, err := lines.next()
		if err != nil {
			break
		}
		k.progress.set()
		size := l.size
		r.fromKernel(k, l)
		r.quiet.carried(size)
	}
	k.end()
	k.forget()
	r.mu.Lock()
	k.broken = true
	r.requeue(k)
	inUse := r.link == k
	if inUse {
		r.link = nil
	}
	r.mu.Unlock()
	close(k.dead)
	if inUse {
		r.lost(k)
	}
}

// requeue has the requests wait again that were sent over a link which broke, before
// what came after them. The lock is held.
func (r *relay) requeue(k *link) {
	for _, of := range r.table.open {
		if of.over == k && (of.own || of.cancelled) {
			r.table.remove(of)
		}
	}
	var again []outgoing
	for _, of := range r.table.waiting() {
		if of.over == k {
			of.over = nil
			of.tries++
			again = append(again, outgoing{line: of.line, edits: of.edits, of: of})
		}
	}
	r.outbox = slices.Concat(again, r.outbox)
}

// lost finds the next kernel, if something waits for it.
func (r *relay) lost(k *link) {
	r.mu.Lock()
	if r.closing {
		r.mu.Unlock()
		r.end(nil)
		return
	}
	withdrawn := r.withdrawQuestions(k)
	if k.answered || time.Since(k.began) > quickEnd {
		r.quick = 0
	} else {
		r.quick++
	}
	waiting := len(r.table.waiting())
	over := r.quick > maxQuick
	if !over && (waiting > 0 || len(r.client.subscriptions) > 0) {
		r.startConnecting()
	}
	r.mu.Unlock()
	for _, text := range withdrawn {
		r.say(text)
	}
	if over {
		r.fail(tool.Errorf("relay", tool.Unavailable, "%d kernels in a row ended within seconds, without an answer", r.quick).
			WithHint("see kernel.log in the state directory, and callgate doctor"))
		return
	}
	if waiting > 0 {
		r.Status("callgate: the kernel%s ended; requests without an answer, which the next one is asked: %d",
			process(k), waiting)
	} else {
		r.Status("callgate: the kernel%s ended; the next request finds or starts another", process(k))
	}
}

// withdrawQuestions forgets the questions of a kernel that is gone, and returns what
// the client is told of them. The lock is held.
func (r *relay) withdrawQuestions(k *link) (texts [][]byte) {
	for id, q := range r.asked {
		if q.over != k {
			continue
		}
		delete(r.asked, id)
		n, _ := strconv.ParseUint(id, 10, 64)
		texts = append(texts, encode(map[string]any{"jsonrpc": "2.0", "method": cancelled, "params": map[string]any{
			"requestId": n, "reason": "the kernel that asked has ended",
		}}))
	}
	return texts
}
