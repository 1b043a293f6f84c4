package triggers

import (
	"context"
	"encoding/json"

	"callgate/internal/channel"
	"callgate/internal/document"
	"callgate/tool"
)

// registered lists the apps that were started.
func (t *Triggers) registered(ctx context.Context) ([]registration, error) {
	var list []registration
	for after := ""; ; {
		docs, err := t.opt.Documents.List(ctx, collectionApps, "", after, document.MaxList)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			var r registration
			if json.Unmarshal(d.Data, &r) == nil {
				list = append(list, r)
			}
			after = d.Key
		}
		if len(docs) < document.MaxList {
			return list, nil
		}
	}
}

// isRegistered reports whether an app was started and not stopped.
func (t *Triggers) isRegistered(ctx context.Context, key string) (bool, error) {
	_, err := t.opt.Documents.Get(ctx, collectionApps, key)
	if tool.KindOf(err) == tool.NotFound {
		return false, nil
	}
	return err == nil, err
}

// put stores a document, whatever was there.
func (t *Triggers) put(ctx context.Context, collection, key string, data []byte) error {
	for tries := 0; ; tries++ {
		doc, err := t.opt.Documents.Get(ctx, collection, key)
		if err != nil && tool.KindOf(err) != tool.NotFound {
			return err
		}
		change := document.Change{Collection: collection, Key: key, If: doc.Version, Data: data}
		if _, err = t.opt.Documents.Write(ctx, change); tool.KindOf(err) != tool.Conflict || tries == 5 {
			return err
		}
	}
}

// memory is what a trigger remembers, under a key.
type memory struct {
	triggers *Triggers
	key      string
}

var _ channel.State = memory{}

// Load returns what was saved last.
func (m memory) Load(ctx context.Context) ([]byte, error) {
	doc, err := m.triggers.opt.Documents.Get(ctx, collectionState, m.key)
	if tool.KindOf(err) == tool.NotFound {
		return nil, nil
	}
	return doc.Data, err
}

// Save keeps data.
func (m memory) Save(ctx context.Context, data []byte) error {
	return m.triggers.put(ctx, collectionState, m.key, data)
}
