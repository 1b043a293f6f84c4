package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// ErrIdle is why a request ended whose server said nothing for too long.
var ErrIdle = errors.New("the server said nothing for too long")

// WithIdleTimeout is a transport that waits for a server, but not for ever: a request is
// aborted once no byte has come for the length of silence, be it before the
// answer begins or in its middle. A stream that keeps coming may last as long as
// it likes. A silence of zero waits for ever.
func WithIdleTimeout(next http.RoundTripper, silence time.Duration) http.RoundTripper {
	if silence <= 0 {
		return next
	}
	return idleTransport{next, silence}
}

type idleTransport struct {
	next    http.RoundTripper
	silence time.Duration
}

// RoundTrip sends the request and watches over its answer.
func (p idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	w := &idleBody{ctx: ctx, cancel: cancel, silence: p.silence}
	w.timer = time.AfterFunc(p.silence, func() { cancel(ErrIdle) })
	res, err := p.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		w.timer.Stop()
		err = w.why(err)
		cancel(nil)
		return nil, err
	}
	w.body, res.Body = res.Body, w
	return res, nil
}

// idleBody is a body that winds up the timer whenever something comes.
type idleBody struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
	body    io.ReadCloser
}

func (w *idleBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if err != nil {
		w.timer.Stop()
		return n, w.why(err)
	}
	if w.ctx.Err() == nil {
		w.timer.Reset(w.silence)
	}
	return n, nil
}

func (w *idleBody) Close() error {
	w.timer.Stop()
	err := w.body.Close()
	w.cancel(nil)
	return err
}

// why names silence as the cause where it was.
func (w *idleBody) why(err error) error {
	if err != io.EOF && errors.Is(context.Cause(w.ctx), ErrIdle) {
		return ErrIdle
	}
	return err
}
