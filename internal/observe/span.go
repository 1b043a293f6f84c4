// Package observe carries spans: what a program does within what, and how long it takes.
//
// # Law
//
// A span begins in a context and is known there, so that what is done within it becomes its child, and its place
// in the trace can be passed on to others. Where a context has no [Recorder] there are no spans: Start returns nil,
// every method of a nil span does nothing, and nothing is passed on. A recorder never waits and never fails what is
// recorded. A span holds names, kinds, sizes, outcomes and times; never an argument, a result or a secret.
package observe

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"time"
)

// Recorder takes spans that have ended. It must not wait.
type Recorder interface{ Ended(*Span) }

// Sampler is a recorder that takes some traces only. It is asked once for each trace: where a trace begins here, and
// where a request is within one that began elsewhere.
type Sampler interface {
	// Samples reports whether a trace is recorded; elsewhere says what its beginning decided, nil: it begins here.
	Samples(trace [16]byte, elsewhere *bool) bool
}

// samples asks a recorder; one that is no sampler takes what the beginning of a trace takes.
func samples(r Recorder, trace [16]byte, elsewhere *bool) bool {
	if s, ok := r.(Sampler); ok {
		return s.Samples(trace, elsewhere)
	}
	return elsewhere == nil || *elsewhere
}

// Kind is on which side of a request a span is.
type Kind uint8

// The kinds.
const (
	Internal Kind = iota
	Client
	Server
)

// Span is something that is done. A nil one is not recorded.
type Span struct {
	Trace   [16]byte
	ID      [8]byte
	Parent  [8]byte // zero: none
	Name    string
	Kind    Kind
	Start   time.Time
	End     time.Time
	Attrs   []Attr
	Failure string // the kind of the error; "": it went well

	recorder Recorder
}

// Attr is what is known of a span.
type Attr struct {
	Key    string
	Text   string
	Number int64 // where Text is empty
}

// place is where in a trace a context is.
type place struct {
	recorder Recorder
	trace    [16]byte
	span     [8]byte
	skip     bool // the trace is not recorded
}

type placeKey struct{}

func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// With has the spans that begin in a context recorded. A nil recorder changes nothing.
func With(ctx context.Context, r Recorder) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, placeKey{}, &place{recorder: r})
}

// From returns the recorder of a context; nil: there is none.
func From(ctx context.Context) Recorder {
	if p := placeOf(ctx); p != nil {
		return p.recorder
	}
	return nil
}

// Within has spans be children of one elsewhere, which a traceparent names as W3C Trace Context has it. One that
// cannot be read changes nothing.
func Within(ctx context.Context, traceparent string) context.Context {
	p := placeOf(ctx)
	if p == nil || traceparent == "" {
		return ctx
	}
	inside := place{recorder: p.recorder}
	flags, ok := parse(traceparent, &inside)
	if !ok {
		return ctx
	}
	recorded := flags&1 == 1
	inside.skip = !samples(p.recorder, inside.trace, &recorded)
	return context.WithValue(ctx, placeKey{}, &inside)
}

// Beside returns a context with the place that another has in its trace.
func Beside(ctx, other context.Context) context.Context {
	if p := placeOf(other); p != nil {
		return context.WithValue(ctx, placeKey{}, p)
	}
	return ctx
}

// parse reads version-trace-parent-flags. Later versions may have more at the end.
func parse(text string, into *place) (flags byte, ok bool) {
	if len(text) < 55 || len(text) > 55 && (text[55] != '-' || text[:2] == "00") || text != strings.ToLower(text) ||
		text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return 0, false
	}
	var version, last [1]byte
	for _, part := range []struct {
		text string
		to   []byte
	}{{text[:2], version[:]}, {text[3:35], into.trace[:]}, {text[36:52], into.span[:]}, {text[53:55], last[:]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil {
			return 0, false
		}
	}
	return last[0], version[0] != 0xff && into.trace != [16]byte{} && into.span != [8]byte{}
}

// Start begins a span within that of a context. The context that it returns is within the new one.
func Start(ctx context.Context, kind Kind, name string) (context.Context, *Span) {
	p := placeOf(ctx)
	if p == nil || p.skip {
		return ctx, nil
	}
	s := &Span{Trace: p.trace, Parent: p.span, Name: name, Kind: kind, Start: time.Now(), recorder: p.recorder}
	if s.Trace == [16]byte{} {
		binary.NativeEndian.PutUint64(s.Trace[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(s.Trace[8:], rand.Uint64()|1) // never zero
		if !samples(p.recorder, s.Trace, nil) {
			return context.WithValue(ctx, placeKey{}, &place{recorder: p.recorder, skip: true}), nil
		}
	}
	binary.NativeEndian.PutUint64(s.ID[:], rand.Uint64()|1)
	return context.WithValue(ctx, placeKey{}, &place{recorder: p.recorder, trace: s.Trace, span: s.ID}), s
}

// Traceparent is the place of a context in its trace, to be passed on; "": there is none.
func Traceparent(ctx context.Context) string {
	p := placeOf(ctx)
	if p == nil || p.span == [8]byte{} {
		return ""
	}
	flags := "-01"
	if p.skip {
		flags = "-00"
	}
	return "00-" + hex.EncodeToString(p.trace[:]) + "-" + hex.EncodeToString(p.span[:]) + flags
}

// Set says something of the span. An empty text is left out.
func (s *Span) Set(key, text string) {
	if s != nil && text != "" {
		s.Attrs = append(s.Attrs, Attr{Key: key, Text: text})
	}
}

// SetInt says a number of the span.
func (s *Span) SetInt(key string, n int64) {
	if s != nil {
		s.Attrs = append(s.Attrs, Attr{Key: key, Number: n})
	}
}

// Finish ends the span, with the kind of the error if there was one. It is called once.
func (s *Span) Finish(failure string) {
	if s == nil {
		return
	}
	s.End, s.Failure = time.Now(), failure
	s.recorder.Ended(s)
}
