package conversations

import (
	"context"
	"io"
	"iter"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
)

// attendance is a conversation at a terminal that may go on by itself. It does so before
// the next line is asked for. While a line is typed nothing is written over it but a
// line that says that there is something: an empty line has it go on.
type attendance struct {
	*turnPrinter
	conversation *client.Conversation
	news         chan protocol.News // the last that was not seen
}

func attend(ctx context.Context, p *turnPrinter, c *client.Conversation) *attendance {
	a := &attendance{p, c, make(chan protocol.News, 1)}
	go func() {
		for n := range c.Attend(ctx) {
			select {
			case <-a.news: // this one says more
			default:
			}
			a.put(n)
		}
	}()
	return a
}

// put keeps what was said for the next time, unless there is something newer.
func (a *attendance) put(n protocol.News) {
	select {
	case a.news <- n:
	default:
	}
}

// goOn has the conversation go on by itself, if it should.
func (a *attendance) goOn(ctx context.Context) error {
	select {
	case n := <-a.news:
		return a.take(ctx, n)
	default:
		return nil
	}
}

func (a *attendance) take(ctx context.Context, n protocol.News) error {
	if n.Held != "" {
		a.note("%s", n.Held)
		return nil
	}
	next, stop := iter.Pull2(a.conversation.Wake(ctx))
	defer stop()
	first, err, ok := next()
	if !ok || err == nil && first.End != nil && first.End.Reason == "" {
		return nil // all was told meanwhile
	}
	err = a.run(ctx, func(yield func(protocol.TurnEvent, error) bool) {
		for ok && yield(first, err) {
			first, err, ok = next()
		}
	})
	if command.IsExit(err) && ctx.Err() == nil { // the user goes on
		return nil
	}
	return err
}

// readLine reads one line, or returns when ctx ends.
func (a *attendance) readLine(ctx context.Context, in io.Reader) (string, error) {
	reading := readingLine(in)
	var seen *protocol.News
	defer func() {
		if seen != nil {
			a.put(*seen)
		}
	}()
	for {
		select {
		case r := <-reading:
			return r.text, r.err
		case n := <-a.news:
			if seen = &n; n.Held != "" {
				seen = nil
				a.Status("")
				a.note("%s", n.Held)
			} else {
				a.Status("")
				a.note("%s for the agent: enter lets it go on", amount.Of(n.Owed, "notice"))
			}
			a.ask()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
