package apiclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ErrConnect is in the error of a request for which there was no connection in time.
var ErrConnect = errors.New("no connection in time")

// WithConnectTimeout bounds how long a transport takes for a connection, and as long again for its encryption.
// A request that fails for it wraps [ErrConnect].
func WithConnectTimeout(t *http.Transport, timeout time.Duration) http.RoundTripper {
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = timeout
	return connectTransport{t, timeout}
}

type connectTransport struct {
	*http.Transport
	timeout time.Duration
}

// RoundTrip sends a request.
func (t connectTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	var late net.Error
	if err != nil && req.Context().Err() == nil && errors.As(err, &late) && late.Timeout() {
		return nil, fmt.Errorf("%w: %v were over (%w)", ErrConnect, t.timeout, err)
	}
	return res, err
}
