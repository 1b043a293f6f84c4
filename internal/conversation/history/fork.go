package history

import (
	"context"
	"slices"

	"callgate/tool"
)

// Fork begins a conversation with what was said in another one: its first turns, or with 0 all that have ended. The
// other one stays as it is. What it has cost is not counted again, and what waited to be said there is not said here.
func Fork(ctx context.Context, store Store, of, id string, turns int) (Info, error) {
	const op = "history.Fork"
	from, err := store.Get(ctx, of)
	if err != nil {
		return Info{}, err
	}
	if from.Parent != "" {
		return Info{}, tool.Errorf(op, tool.Invalid, "the conversation %s works for another one", of).
			WithHint("fork that one: %s", from.Parent)
	}
	events, err := store.Read(ctx, of, 0)
	if err != nil {
		return Info{}, err
	}
	if events, err = firstTurns(events, of, turns); err != nil {
		return Info{}, err
	}
	for _, q := range Replay(events).queued {
		events = append(events, Event{Type: Returned, Queued: q.ID})
	}
	log, err := Create(ctx, store, Info{
		ID: id, Forked: of, App: from.App, AppFile: from.AppFile, Agent: from.Agent, Lane: from.Lane,
		Workspace: from.Workspace, User: from.User,
	})
	if err != nil {
		return Info{}, err
	}
	err = log.Append(ctx, events...)
	return log.Info(), err
}

// firstTurns returns copies of the events of turns that have ended, without what they have cost.
func firstTurns(events []Event, of string, turns int) ([]Event, error) {
	ended, end := 0, 0
	for i, e := range events {
		if e.Type != TurnEnded && e.Type != Rewound {
			continue
		}
		if e.Type == TurnEnded {
			ended++
		}
		end = i + 1
		if ended == turns {
			break
		}
	}
	switch {
	case end == 0:
		return nil, tool.Errorf("history.Fork", tool.Invalid, "no turn of the conversation %s has ended", of)
	case turns < 0 || turns > ended:
		return nil, tool.Errorf("history.Fork", tool.Invalid, "the conversation %s has %d turns that have ended, not %d",
			of, ended, turns).WithHint("fork fewer of them, or all: 0")
	}
	copies := slices.Clone(events[:end])
	for i := range copies {
		copies[i].Usage = nil
		if c := copies[i].Compaction; c != nil {
			without := *c
			without.Usage = nil
			copies[i].Compaction = &without
		}
	}
	return copies, nil
}
