// Package llm is the vocabulary of a language model: what is said to it, what
// it says back, what that cost, and how it fails.
//
// It stands right above package tool and knows no provider. A provider's own
// JSON stays in its adapter; everything else (the agent's turn, LLM-backed
// tools, the offline brain) speaks these words.
//
// # One method
//
// A [Model] has one method. Generate sends a whole [Request] and returns the
// whole [Response]; whoever wants to see the answer grow passes a function,
// which is given each [Delta] in order, in the caller's own goroutine, before
// Generate returns. The response says everything that the deltas said, so a
// caller may ignore them.
//
// # Messages
//
// A [Message] is a list of parts, and a [Part] is one thing: words, an image, a
// tool call, a tool's result, or reasoning. Messages are plain data: written as
// JSON and read back they are the same, so a session can keep them.
//
// Reasoning belongs to the provider and the model that wrote it. It is replayed
// to them unchanged, and never shown to another.
//
// # Failures
//
// A failure is an [*Error] with a [Kind] that says what to do: wait, shorten,
// pay, mend. What had come before it broke is in its Partial. It is a
// tool.Error too, for whoever asks with errors.As.
package llm
