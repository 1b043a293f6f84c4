package client

import (
	"context"

	"callgate/internal/protocol/activity"
)

// Activity returns what a kernel does now.
func Activity(ctx context.Context, c *Client) (activity.Activity, error) {
	var a activity.Activity
	err := c.get(ctx, "/v1/activity", nil, &a)
	return a, err
}
