// Package llm is the vocabulary of a language model: what it is sent, what it answers, what that costs, and
// how it fails.
//
// It stands right above package tool and knows no provider. A provider's own JSON stays in its adapter;
// everything else (the agent's turn, LLM-backed tools, the offline model) uses these types.
//
// # One method
//
// A [Model] has one method. Generate sends a whole [Request] and returns the whole [Response]. A caller that
// wants to see the response grow passes a function, which gets each [Delta] in order, in the caller's own
// goroutine, before Generate returns. The response holds everything that the deltas held, so a caller may
// ignore them.
//
// # Messages
//
// A [Message] is a list of parts. A [Part] is one of: text, an image, a tool call, a tool's result, reasoning.
// Messages are plain data: written as JSON and read back they are the same, so a conversation can store them.
//
// Reasoning belongs to the provider and the model that wrote it. It goes back to them unchanged, and never to
// another.
//
// # Failures
//
// A failure is an [*Error] with a [Kind] that says what to do: wait, shorten, pay, repair. Its Partial has
// what arrived before the failure. errors.As finds a tool.Error in it too.
package llm
