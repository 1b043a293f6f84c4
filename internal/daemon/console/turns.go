package console

import (
	"context"
	"sync"
	"time"

	"callgate/internal/client"
	"callgate/internal/protocol"
)

// turns are the turns that pages have begun. A turn goes on when its page is left, and ends
// with the console at the latest; every page of its conversation is streamed all of it.
type turns struct {
	mu      sync.Mutex
	running map[string]*turn // by the conversation
	all     sync.WaitGroup
}

// turn is a turn that runs. Its conversation is open until it ends.
type turn struct {
	conversation *client.Conversation
	client       *client.Client // whose it is
	before       int64          // the last event of the history when it began

	mu     sync.Mutex
	pieces []piece
	more   chan struct{} // closed when there are further pieces, or the turn has ended
	over   bool
}

// piece is something that a page adds: a text, or an element that may replace an older one.
type piece struct {
	Text string `json:"text,omitempty"`
	HTML string `json:"html,omitempty"`
}

func newTurns() *turns { return &turns{running: map[string]*turn{}} }

func (t *turns) get(conversation string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[conversation]
}

// begin runs a turn until it ends or ctx does. draw makes the piece of an event.
func (t *turns) begin(
	ctx context.Context, one *turn, text string, draw func(protocol.TurnEvent) (piece, bool),
) {
	t.mu.Lock()
	t.running[one.conversation.ID] = one
	t.mu.Unlock()
	t.all.Go(func() {
		for event, err := range one.conversation.Send(ctx, text) {
			if err != nil {
				event = protocol.TurnEvent{Notice: asError(err).Error()}
			}
			if p, ok := draw(event); ok {
				one.add(p, false)
			}
		}
		done, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = one.conversation.Close(done) // a kernel that is gone has closed it
		t.mu.Lock()
		delete(t.running, one.conversation.ID)
		t.mu.Unlock()
		one.add(piece{}, true)
	})
}

// wait waits for the turns to end.
func (t *turns) wait() { t.all.Wait() }

// add adds a piece, and wakes who follows.
func (t *turn) add(p piece, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = t.over || over; !over {
		t.pieces = append(t.pieces, p)
	}
	close(t.more)
	t.more = make(chan struct{})
}

// after returns the pieces after the first n, whether the turn is over, and what is closed
// when there is more.
func (t *turn) after(n int) (pieces []piece, over bool, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pieces[n:len(t.pieces):len(t.pieces)], t.over, t.more
}
