package outputbus

import (
	"iter"
	"sync"
)

// Listener holds the output that its reader has not taken yet, up to maxWaiting bytes.
// What exceeds the limit is dropped and reported: for each stream that lost output, the
// reader receives one piece with the number of lost bytes, after the output that was
// kept. A listener has one reader. Create one with [Bus.Subscribe].
type Listener struct {
	ready chan struct{} // has a buffer of one: there is output to take
	ended <-chan struct{}

	mu      sync.Mutex
	waiting []Output
	size    int            // of waiting, in bytes
	lost    []Output       // one for each stream that lost output since the last Take
	lossOf  map[stream]int // the index in lost
}

// stream names one stream of one call.
type stream struct{ call, name string }

const (
	// maxWaiting is how many bytes of output may wait for a reader.
	maxWaiting = 4 << 20
	// pieceCost is how many bytes a piece counts for besides its text.
	pieceCost = 128
)

// add appends a piece of output. It never blocks.
func (l *Listener) add(out Output) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(out.Text) + pieceCost
	// After a loss nothing is kept until the reader has taken what waits: otherwise the
	// report of the loss would not stand at the gap.
	if len(l.lost) > 0 || l.size+size > maxWaiting {
		l.drop(out)
	} else {
		l.waiting, l.size = append(l.waiting, out), l.size+size
	}
	select {
	case l.ready <- struct{}{}:
	default: // already signaled
	}
}

func (l *Listener) drop(out Output) {
	of := stream{out.Call, out.Stream}
	i, found := l.lossOf[of]
	if !found {
		if l.lossOf == nil {
			l.lossOf = map[stream]int{}
		}
		i = len(l.lost)
		l.lossOf[of] = i
		l.lost = append(l.lost, Output{Call: out.Call, Stream: out.Stream, Text: []byte{}})
	}
	l.lost[i].Lost += len(out.Text)
}

// Ready returns a channel that receives a value when there is output to take. The
// channel of a nil listener is nil.
func (l *Listener) Ready() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.ready
}

// Take returns the output that was published since the last Take. It never blocks.
func (l *Listener) Take() []Output {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := append(l.waiting, l.lost...)
	l.waiting, l.size, l.lost, l.lossOf = nil, 0, nil, nil
	return taken
}

// All yields the output as it comes. It ends when the context of the subscription has
// ended and everything published before that has been yielded.
func (l *Listener) All() iter.Seq[Output] {
	return func(yield func(Output) bool) {
		for ended := false; !ended; {
			select {
			case <-l.ready:
			case <-l.ended:
				ended = true
			}
			for _, out := range l.Take() {
				if !yield(out) {
					return
				}
			}
		}
	}
}
