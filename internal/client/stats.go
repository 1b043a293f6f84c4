package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"callgate/internal/protocol/operations"
)

// Stats says what the gate did since a time. The kernel looks at so many records at most; 0: at all.
func Stats(ctx context.Context, c *Client, since time.Time, limit int) (s operations.Stats, err error) {
	query := url.Values{"since": {since.Format(time.RFC3339Nano)}, "limit": {strconv.Itoa(limit)}}
	return s, c.get(ctx, "/v1/stats", query, &s)
}
