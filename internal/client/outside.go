package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/protocol"
)

// Outside is what a kernel does with channels and triggers.
type Outside struct{ client *Client }

// OutsideOf returns what a client's kernel does with channels and triggers.
func OutsideOf(c *Client) Outside { return Outside{c} }

// Channels lists the channels of the session's app.
func (s *Session) Channels(ctx context.Context) ([]protocol.Channel, error) {
	var list []protocol.Channel
	err := s.client.get(ctx, s.path("/channels"), nil, &list)
	return list, err
}

// TestChannel sends a message through a channel of the session's app.
func (s *Session) TestChannel(ctx context.Context, name, text string) (protocol.Delivery, error) {
	var sent protocol.Delivery
	path := s.path("/channels/" + url.PathEscape(name) + "/test")
	err := s.client.do(ctx, http.MethodPost, path, nil, protocol.TestChannel{Text: text}, &sent)
	return sent, err
}

// Deliveries lists deliveries, the newest first: all, or those that were given up.
func (o Outside) Deliveries(ctx context.Context, dead bool, limit int) (list []protocol.Delivery, err error) {
	err = o.client.get(ctx, "/v1/deliveries", listOf(dead, limit), &list)
	return list, err
}

// RetryDelivery has a delivery tried again that was given up.
func (o Outside) RetryDelivery(ctx context.Context, id string) (d protocol.Delivery, err error) {
	err = o.client.do(ctx, http.MethodPost, "/v1/deliveries/"+url.PathEscape(id)+"/retry", nil, struct{}{}, &d)
	return d, err
}

// Apps lists the apps that run without a client.
func (o Outside) Apps(ctx context.Context) (list []protocol.BackgroundApp, err error) {
	err = o.client.get(ctx, "/v1/background", nil, &list)
	return list, err
}

// Start has an app run without a client.
func (o Outside) Start(ctx context.Context, in protocol.StartBackground) (a protocol.BackgroundApp, err error) {
	err = o.client.do(ctx, http.MethodPost, "/v1/background/start", nil, in, &a)
	return a, err
}

// Stop ends that an app runs without a client.
func (o Outside) Stop(ctx context.Context, in protocol.StartBackground) (a protocol.BackgroundApp, err error) {
	err = o.client.do(ctx, http.MethodPost, "/v1/background/stop", nil, in, &a)
	return a, err
}

// Events lists events, the newest first: all, or those that were given up.
func (o Outside) Events(ctx context.Context, dead bool, limit int) (list []protocol.TriggerEvent, err error) {
	err = o.client.get(ctx, "/v1/triggers/events", listOf(dead, limit), &list)
	return list, err
}

// RetryEvent has the turn of an event tried again that was given up.
func (o Outside) RetryEvent(ctx context.Context, id string) (e protocol.TriggerEvent, err error) {
	err = o.client.do(ctx, http.MethodPost, "/v1/triggers/events/"+url.PathEscape(id)+"/retry", nil, struct{}{}, &e)
	return e, err
}

func listOf(dead bool, limit int) url.Values {
	return url.Values{"dead": {strconv.FormatBool(dead)}, "limit": {strconv.Itoa(max(limit, 0))}}
}
