package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// ErrIdle is the error of a request that was aborted because its server sent nothing for too long.
var ErrIdle = errors.New("the server sent nothing for too long")

// WithIdleTimeout returns a transport that aborts a request after a period without data, be it before the
// response begins or in its middle. A stream that keeps sending may last for any time. A timeout of 0
// never aborts.
func WithIdleTimeout(next http.RoundTripper, timeout time.Duration) http.RoundTripper {
	if timeout <= 0 {
		return next
	}
	return idleTransport{next, timeout}
}

type idleTransport struct {
	next    http.RoundTripper
	timeout time.Duration
}

// RoundTrip sends the request and starts its timer.
func (t idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	b := &idleBody{ctx: ctx, cancel: cancel, timeout: t.timeout}
	b.timer = time.AfterFunc(t.timeout, func() { cancel(ErrIdle) })
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		b.timer.Stop()
		err = b.cause(err)
		cancel(nil)
		return nil, err
	}
	b.restart()
	b.body, res.Body = res.Body, b
	return res, nil
}

// idleBody is a response's body that restarts the timer whenever data arrives.
type idleBody struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	timeout time.Duration
	body    io.ReadCloser
}

func (b *idleBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if err != nil {
		b.timer.Stop()
		return n, b.cause(err)
	}
	b.restart()
	return n, nil
}

// restart restarts the timer, unless the request has ended.
func (b *idleBody) restart() {
	if b.ctx.Err() == nil {
		b.timer.Reset(b.timeout)
	}
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}

// cause returns ErrIdle in place of an error that the timer caused.
func (b *idleBody) cause(err error) error {
	if err != io.EOF && errors.Is(context.Cause(b.ctx), ErrIdle) {
		return ErrIdle
	}
	return err
}
