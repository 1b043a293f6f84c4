package relay_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/client/relay"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// stream is a pipe whose writer never waits.
type stream struct {
	mu     sync.Mutex
	grown  sync.Cond
	data   []byte
	closed bool
}

func newStream() *stream {
	s := &stream{}
	s.grown.L = &s.mu
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.data = append(s.data, p...)
	s.grown.Broadcast()
	return len(p), nil
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == 0 && !s.closed {
		s.grown.Wait()
	}
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data)
	if s.data = s.data[n:]; len(s.data) == 0 {
		s.data = nil // nothing is kept of what was read
	}
	return n, nil
}

func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.grown.Broadcast()
	return nil
}

// kernel is the other end of a bridge, played by a test.
type kernel struct {
	in     *bufio.Reader
	out    *stream
	resent uint64
	end    func()
}

// conn is the bridge's end.
type conn struct {
	io.Reader
	to     *stream
	end    func()
	before func([]byte) // a write; may be nil
}

func (c conn) Write(p []byte) (int, error) {
	if c.before != nil {
		c.before(p)
	}
	return c.to.Write(p)
}

func (c conn) CloseWrite() error { return c.to.Close() }
func (c conn) Close() error      { c.end(); return nil }

// world has a bridge between a test's client and its kernels.
type world struct {
	t       *testing.T
	in      *stream
	answers *bufio.Reader
	kernels chan *kernel
	ended   chan error
	cancel  context.CancelFunc

	mu       sync.Mutex
	status   []string
	refuse   error  // instead of a connection
	callIDs  string // that its kernels say they give
	attempts int

	beforeWrite func([]byte) // to the next kernel
}

func (w *world) connect(_ context.Context, resent uint64) (*relay.Kernel, error) {
	w.mu.Lock()
	w.attempts++
	refuse, callIDs, before := w.refuse, w.callIDs, w.beforeWrite
	w.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	in, out := newStream(), newStream()
	end := func() { in.Close(); out.Close() }
	w.kernels <- &kernel{bufio.NewReaderSize(in, 1<<20), out, resent, end}
	return &relay.Kernel{Conn: conn{out, in, end, before}, PID: 7, CallIDs: callIDs}, nil
}

func newWorld(t *testing.T, o relay.Options) *world {
	t.Helper()
	in, out := newStream(), newStream()
	w := &world{
		t: t, in: in, answers: bufio.NewReaderSize(out, 1<<20), kernels: make(chan *kernel, 100),
		ended: make(chan error, 1), callIDs: callid.Scheme,
	}
	o.Connect, o.Key = w.connect, "key"
	o.Status = func(format string, args ...any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.status = append(w.status, fmt.Sprintf(format, args...))
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	t.Cleanup(func() { cancel(); in.Close(); out.Close() })
	go func() {
		w.ended <- relay.Run(ctx, in, out, o)
		out.Close()
	}()
	return w
}

func (w *world) say(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// hears checks the next line that the client gets.
func (w *world) hears(want string) {
	w.t.Helper()
	line, err := w.answers.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		w.t.Errorf("the client heard %s %v\nwant %s", line, err, want)
	}
}

// hearsPart checks that the next line has parts.
func (w *world) hearsPart(parts ...string) {
	w.t.Helper()
	line, err := w.answers.ReadString('\n')
	for _, part := range parts {
		if err != nil || !strings.Contains(line, part) {
			w.t.Errorf("the client heard %s %v\nwant %s in it", line, err, part)
		}
	}
}

func (k *kernel) say(line string) { _, _ = io.WriteString(k.out, line+"\n") }

// hear returns the next line, or EOF.
func (k *kernel) hear() string {
	line, err := k.in.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

// hears checks the next line.
func (k *kernel) hears(t *testing.T, want string) {
	t.Helper()
	if got := k.hear(); got != want {
		t.Errorf("the kernel heard %s\nwant %s", got, want)
	}
}

// answer answers the request that the kernel hears next, and returns it.
func (k *kernel) answer(t *testing.T) string {
	t.Helper()
	line := k.hear()
	var m struct{ ID json.Number }
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID == "" {
		t.Errorf("no request: %s %v", line, err)
	}
	k.say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)
	return line
}

// The answers to what a client has asked reach it though it has said its last,
// and its last line need not end.
func TestAnswersComeAfterTheLastWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{Grace: time.Hour})
	k := <-w.kernels
	go func() {
		_, _ = io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"id":9}}`+"\n"+
			`{"method":"tools/list","id":"zwölf","jsonrpc":"2.0"}`)
		w.in.Close()
	}()
	k.hears(t, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"id":9}}`)
	k.hears(t, `{"method":"tools/list","id":2,"jsonrpc":"2.0"}`)
	go func() {
		k.say(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		k.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`) // a question of the kernel's own is no answer
		k.say(`{"jsonrpc":"2.0","id":2,"result":{"id":1}}`)
		k.say(`{"jsonrpc":"2.0","result":{"method":"x"},"id":1}`)
	}()
	w.hears(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
	w.hears(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`)
	w.hears(`{"jsonrpc":"2.0","id":"zwölf","result":{"id":1}}`)
	w.hears(`{"jsonrpc":"2.0","result":{"method":"x"},"id":1}`)
	k.hears(t, "EOF")
	k.end()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}

// Run does not wait for a client that waits for nothing.
func TestTheEndIsNotHeldBack(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n"
	for name, c := range map[string]struct {
		in string
		o  relay.Options
	}{
		"nothing asked": {`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":4,"result":{}}` + "\n", relay.Options{Grace: time.Hour}},
		"nothing at all": {"", relay.Options{Grace: time.Hour}},
		"no message":     {"hello\n[1,2\n{\"id\":1\n", relay.Options{Grace: time.Hour}},
		"cancelled": {call + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"why":{},"requestId":1}}` +
			"\n", relay.Options{Grace: time.Hour}},
		"nobody reads":      {call, relay.Options{Grace: time.Hour, Gone: func() bool { return true }}},
		"the grace is over": {call, relay.Options{Grace: time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.o)
			go func() { _, _ = io.Copy(io.Discard, w.answers) }()
			k := <-w.kernels
			go func() {
				_, _ = io.Copy(io.Discard, k.in) // to the end
				k.end()
			}()
			_, _ = io.WriteString(w.in, c.in)
			w.in.Close()
			if err := <-w.ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A signal ends it at once, whatever is open, and that is no good end.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{Grace: time.Hour})
	k := <-w.kernels
	w.say(`{"id":1,"method":"tools/call"}`)
	k.hear()
	w.cancel()
	if err := <-w.ended; tool.KindOf(err) != tool.Cancelled {
		t.Errorf("got %v", err)
	}
	if got := k.hear(); got == "" || !strings.Contains("EOF io: read/write on closed pipe", got) {
		t.Errorf("the kernel heard %s", got)
	}
}

// Ids come back as they were written, whatever they are.
func TestIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	for i, id := range []string{
		`1.5`, `12345678901234567890`, `-7`, `"a"`, `"\u0061b"`, `""`, `1e3`, `0`, `1.5`, // one that was answered is free
		`"` + strings.Repeat("x", 1000) + `"`,
	} {
		w.say(`{"jsonrpc":"2.0","method":"ping","id": ` + id + ` }`)
		k.hears(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"ping","id": %d }`, i+1))
		k.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i+1))
		w.hears(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
	}
	for _, id := range []string{`null`, `{"a":1}`, `[1]`, `true`} {
		w.say(`{"jsonrpc":"2.0","method":"ping","id":` + id + `}`)
		w.hearsPart(`"id":null`, `-32600`, "a text or a number")
	}
	w.say(`{"jsonrpc":"2.0","id":"twice","method":"ping"}`)
	w.say(`{"jsonrpc":"2.0","id":"tw\u0069ce","method":"ping"}`)
	w.hearsPart(`"id":"tw\u0069ce"`, `-32600`, "is in use")
	k.answer(t)
	w.hears(`{"jsonrpc":"2.0","id":"twice","result":{}}`)
	w.say(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":1,"method":"ping"},7]`)
	w.hearsPart(`"id":1`, "is in use")
	w.hearsPart(`"id":null`, `-32600`)
	k.answer(t)
	w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// A message beyond the limit is refused under its id, and the next one is heard.
func TestTooLong(t *testing.T) {
	t.Parallel()
	tooLong(t, relay.Options{MaxMessage: 2 << 20}, 2<<20, "2 MiB")
}

func tooLong(t *testing.T, o relay.Options, size int, limit string) {
	t.Helper()
	w := newWorld(t, o)
	k := <-w.kernels
	long := strings.Repeat("x", size)
	w.say(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"n","arguments":{"t":"` + long + `"}},"id":1.5}`)
	w.hearsPart(`"id":1.5`, "-32600", fmt.Sprint(size), limit)
	w.say(`{"params":"` + long)
	w.hearsPart(`"id":null`, "-32600")
	w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"arguments":{"t":"` + long[:len(long)-1000] + `"}}}`)
	if got := k.answer(t); len(got) < len(long)-1000 || !strings.Contains(got[len(got)-200:], `"_meta":{"callgate/call":"1.`) {
		t.Errorf("of a large message the kernel heard %d bytes", len(got))
	}
	w.hears(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	w.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	k.hear()
	k.say(`{"jsonrpc":"2.0","result":{"t":"` + long + `"},"id":2}`)
	w.hearsPart(`"id":3`, "-32603", "too large", limit)
}

// The next kernel is told what the client told the first, and asked what has no answer.
func TestNextKernel(t *testing.T) {
	t.Parallel()
	key := callid.Key("key")
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	w.say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`)
	k.answer(t)
	w.hears(`{"jsonrpc":"2.0","id":"i","result":{}}`)
	w.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	k.hear()
	for _, m := range []string{
		`logging/setLevel","params":{"level":"info"}`, `resources/subscribe","params":{"uri":"a:1"}`,
		`resources/subscribe","params":{"uri":"a:2"}`, `resources/unsubscribe","params":{"uri":"a:1"}`,
	} {
		w.say(`{"jsonrpc":"2.0","id":1,"method":"` + m + `}`)
		k.answer(t)
		w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
	w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2},"name":"x"}}`)
	w.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`)
	w.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	sent := k.hear()
	if want := `"_meta":{"progressToken":2,"callgate/call":"` + key.Number(6) + `"}`; !strings.Contains(sent, want) {
		t.Errorf("the kernel heard %s; want %s", sent, want)
	}
	k.hears(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"callgate/call":"`+key.Number(7)+`"}}}`)
	k.hears(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	k.end()
	k = <-w.kernels
	if k.resent != 7 {
		t.Errorf("the numbers up to %d are said to be known", k.resent)
	}
	if got := k.answer(t); got != `{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}` {
		t.Errorf("it is introduced with %s", got)
	}
	k.hears(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := k.answer(t); !strings.Contains(got, "setLevel") {
		t.Errorf("then %s", got)
	}
	if got := k.answer(t); !strings.Contains(got, "subscribe") || !strings.Contains(got, "a:2") {
		t.Errorf("then %s", got)
	}
	if got := k.answer(t); got != sent {
		t.Errorf("it is asked %s\nand the first was asked %s", got, sent)
	}
	w.hears(`{"jsonrpc":"2.0","id":2,"result":{}}`)
}

// The client's answer to a kernel that is gone does not reach the next one.
func TestQuestionsOfAKernelThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	w.say(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	k.hear()
	go func() {
		k.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
		k.say(`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`)
		k.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		k.end()
	}()
	w.hears(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
	w.hears(`{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{}}`)
	w.hears(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	w.hearsPart(`"notifications/cancelled"`, `"requestId":1`)
	k = <-w.kernels
	k.hear()
	go k.say(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`)
	w.hears(`{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{}}`)
	w.say(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`)
	w.say(`{"jsonrpc":"2.0","id":3,"result":{"action":"decline"}}`)
	k.hears(t, `{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`)
}

// A kernel that cannot look up a call is not asked to make it: it is in doubt. What
// was never sent is made.
func TestKernelThatReadsNoNumbers(t *testing.T) {
	t.Parallel()
	for name, callIDs := range map[string]string{"none": "", "other IDs": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLostCall(t, callIDs)
		})
	}
}

// testLostCall loses a call of a kernel to one that gives calls other IDs.
func testLostCall(t *testing.T, callIDs string) {
	w := newWorld(t, relay.Options{})
	k := <-w.kernels
	w.mu.Lock()
	w.callIDs = callIDs
	w.mu.Unlock()
	w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
	k.hear()
	k.end()
	w.hearsPart(`"id":1`, `"isError":true`, "in_doubt", "log doubts", callid.Key("key").CallID(1))
	w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"y"}}`)
	if got := (<-w.kernels).answer(t); !strings.Contains(got, `"name":"y"`) {
		t.Errorf("the kernel heard %s", got)
	}
	w.hears(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// Kernels that end at once, and kernels that cannot be started, end the bridge with an
// error after a while, and whoever waits is told.
func TestNoKernelStays(t *testing.T) {
	t.Parallel()
	t.Run("ends at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, relay.Options{})
			first := <-w.kernels
			w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
			first.hear()
			w.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			first.hear()
			first.end()
			go func() {
				for k := range w.kernels {
					k.hear()
					k.end()
				}
			}()
			w.hearsPart(`"id":1`, "in_doubt")
			w.hearsPart(`"id":2`, "unavailable", "-32603")
			w.in.Close()
			<-w.ended
			if close(w.kernels); w.attempts > 20 {
				t.Errorf("it was tried %d times", w.attempts)
			}
		})
	})
	t.Run("cannot be started", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, relay.Options{})
			k := <-w.kernels
			w.mu.Lock()
			w.refuse = tool.Errorf("test", tool.Unavailable, "no kernel can be started")
			w.mu.Unlock()
			k.end()
			synctest.Wait() // the bridge has seen it
			w.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`)
			w.hearsPart(`"id":1`, "not begun", "no kernel can be started")
			if err := <-w.ended; tool.KindOf(err) != tool.Unavailable {
				t.Errorf("it ends with %v", err)
			}
			if w.attempts > 8 {
				t.Errorf("it was tried %d times", w.attempts)
			}
		})
	})
}
