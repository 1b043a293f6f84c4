package control

import (
	"context"
	"strings"
	"time"

	"callgate/tool"
)

// resultWait is how long collect waits for a human by default. Clients
// give up on a call after a minute.
const resultWait = 20 * time.Second

// collect answers approvals.collect: the answer of the call that waited is the
// answer.
func (d *discovery) collect(ctx context.Context, call tool.Call, _ tool.Grant) (*tool.Result, error) {
	var in struct {
		Approval string `json:"approval"`
		Wait     *int   `json:"wait_seconds"`
	}
	s, err := d.parseCall(call, &in)
	if err != nil {
		return nil, err
	}
	wait := resultWait
	if in.Wait != nil {
		wait = time.Duration(*in.Wait) * time.Second
	}
	return s.Collect(ctx, strings.TrimSpace(in.Approval), wait)
}
