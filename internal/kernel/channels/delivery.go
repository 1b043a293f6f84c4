package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"callgate/internal/app/channels"
	"callgate/internal/channel"
	"callgate/internal/kernel/tasks"
	"callgate/internal/task"
	"callgate/tool"
)

// progress is what a delivery keeps between its attempts.
type progress struct {
	Attempts int    `json:"attempts"` // that were begun
	Error    string `json:"error,omitempty"`
}

// deliver runs a delivery: one attempt. What may still arrive is given back.
func (c *Channels) deliver(ctx context.Context, r *tasks.Run) task.Outcome {
	var in delivery
	var p progress
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return tasks.Failed(err)
	}
	_ = json.Unmarshal(r.Data, &p) // of the first attempt there is none
	if in.Channel == channels.Conversation {
		return c.notice(ctx, r, in)
	}
	p.Attempts++
	if err := r.Save(ctx, p); err != nil { // an attempt that ends the kernel counts
		return tasks.Failed(err)
	}
	err := c.send(ctx, r.Asker, channel.Message{
		ID: in.ID, At: in.At, Attempt: p.Attempts, Channel: in.Channel, App: r.Asker.Principal.App,
		Agent: r.Asker.Principal.Agent, Title: in.Title, Text: in.Text,
	})
	if err == nil {
		r.Log(ctx, fmt.Sprintf("delivered to %s", in.Channel), nil)
		return task.Outcome{State: task.Done, Summary: fmt.Sprintf("delivered to %s (attempt %d)", in.Channel, p.Attempts)}
	}
	err = c.scrubbed(err)
	if ctx.Err() != nil {
		return tasks.Failed(err) // it was cancelled, or is given back as it was
	}
	return c.failed(ctx, r, in, p, err)
}

// failed decides what becomes of a delivery after an attempt that failed.
func (c *Channels) failed(ctx context.Context, r *tasks.Run, in delivery, p progress, err error) task.Outcome {
	most := channels.DefaultAttempts
	if loaded, err := c.load(ctx, r.Asker); err == nil {
		if ch, err := c.find(loaded, channel.Message{Channel: in.Channel, Title: in.Title, Text: in.Text}); err == nil {
			most = ch.Attempts()
		}
	}
	wait, again := channel.RetryIn(err)
	p.Error = err.Error()
	if again && p.Attempts < most {
		wait = max(wait, channel.Backoff(p.Attempts))
		const text = "attempt %d of %d: %v; the next one in %v"
		r.Log(ctx, fmt.Sprintf(text, p.Attempts, most, err, wait.Round(time.Second)), nil)
		r.Again(time.Now().Add(wait), p)
		return task.Outcome{}
	}
	r.Log(ctx, fmt.Sprintf("given up after attempt %d: %v", p.Attempts, err), nil)
	if told := c.tellDead(ctx, r, in, err); told != nil {
		r.Log(ctx, fmt.Sprintf("the conversation cannot be told: %v", told), nil)
	}
	return tasks.Failed(err)
}

// tellDead tells the conversation that a message of it was given up.
func (c *Channels) tellDead(ctx context.Context, r *tasks.Run, in delivery, err error) error {
	if in.Conversation == "" {
		return nil
	}
	text := fmt.Sprintf("MESSAGE NOT DELIVERED to the channel %s: %v\nThe message began: %s", in.Channel, err,
		tool.TruncateTo(in.Text, 200))
	return c.opt.Runner.Tell(ctx, task.Task{
		ID: r.ID + "-dead", Parent: in.Conversation, Asker: r.Asker, Label: "a message to " + in.Channel + " was given up",
		Outcome: &task.Outcome{State: task.Done, Summary: text},
	})
}

// notice delivers a message to the conversation itself.
func (c *Channels) notice(ctx context.Context, r *tasks.Run, in delivery) task.Outcome {
	text := in.Text
	if in.Title != "" {
		text = in.Title + "\n" + text
	}
	err := c.opt.Runner.Tell(ctx, task.Task{
		ID: r.ID + "-told", Parent: in.Conversation, Asker: r.Asker, Label: tool.TruncateTo(in.Title, 80),
		Outcome: &task.Outcome{State: task.Done, Summary: "MESSAGE: " + text},
	})
	if err != nil {
		return tasks.Failed(err)
	}
	return task.Outcome{State: task.Done, Summary: "told to the conversation"}
}

// scrubbed is an error without the values of secrets, which a URL may hold.
func (c *Channels) scrubbed(err error) error {
	var e *tool.Error
	if !errors.As(err, &e) {
		return tool.Errorf(opSend, tool.Internal, "%s", c.opt.Secrets.ScrubString(err.Error()))
	}
	clean := *e.Detach()
	clean.Message, clean.Hint = c.opt.Secrets.ScrubString(clean.Message), c.opt.Secrets.ScrubString(clean.Hint)
	if wait, again := channel.RetryIn(err); again {
		return channel.Later(&clean, wait)
	}
	return &clean
}
