// Package prompted runs LLM-backed tools: it has a model do the work of a definition of package
// llmtool.
//
// # Law
//
// The models are asked in one order: those that a benchmark recommended, the preferred one, the
// fallbacks, each once; the app's default is asked only where there is none of these. A model
// without a key is left out, and if that leaves none, nothing is sent. Input that is too long for
// a model and input that a model refuses have fallbacks of their own.
//
// A call may choose one model, as a benchmark does: then that one is asked and no other. It may choose
// only what the tool or its app names, which a human accepted.
//
// An answer is a result only if it is whole, is JSON where JSON was asked for, and matches its
// schema. One that was cut off is truncated, one without JSON malformed, one of another shape
// mismatched; these are three failures. The model is shown its mistake and asked again, as often
// as the definition says, before the next model is asked. A truncated answer is asked for again
// once with more room, and never of a model that has no more room than the one that failed.
//
// The hooks are told of every model that is asked, and of the tools of an embedding program that ask none: these
// have an empty model and one attempt.
//
// Every request is in the result as an attempt, the failed ones too, with its tokens and its cost.
package prompted
