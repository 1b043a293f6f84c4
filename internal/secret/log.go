package secret

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
)

// LogHandler passes records on to another handler, without secrets: in the
// message, in the keys and values of its attributes, and in what was set for
// the whole logger.
func (v *Vault) LogHandler(next slog.Handler) slog.Handler { return logHandler{v, next} }

type logHandler struct {
	vault *Vault
	next  slog.Handler
}

// Enabled asks the other handler.
func (h logHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle scrubs a record.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.vault.ScrubString(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs scrubs what is set for the logger.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return logHandler{h.vault, h.next.WithAttrs(clean)}
}

// WithGroup opens a group in the other handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.vault, h.next.WithGroup(h.vault.ScrubString(name))}
}

func (h logHandler) attr(a slog.Attr) slog.Attr {
	return slog.Attr{Key: h.vault.ScrubString(a.Key), Value: h.value(a.Value.Resolve())}
}

func (h logHandler) value(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, a := range v.Group() {
			group[i] = h.attr(a)
		}
		return slog.GroupValue(group...)
	case slog.KindString:
		return slog.StringValue(h.vault.ScrubString(v.String()))
	case slog.KindAny:
		return h.any(v)
	}
	return v
}

// any looks at a value as the usual handlers write it, text or JSON; one that
// shows a secret becomes that text without it.
func (h logHandler) any(v slog.Value) slog.Value {
	texts := []string{fmt.Sprintf("%+v", v.Any())}
	if data, err := json.Marshal(v.Any()); err == nil {
		texts = append(texts, string(data))
	}
	for _, text := range texts {
		if clean := h.vault.ScrubString(text); clean != text {
			return slog.StringValue(clean)
		}
	}
	return v
}
