// Package calltext finds tool calls in the text of a model.
//
// Some providers do not support tools, so their models write calls into the answer,
// as the prompt asks them to. Other models have tools and still fall back to text,
// in the format they were trained on. This package finds the calls in any of these
// formats while the text streams in, and returns the calls and the text without
// them. Package callformat recognizes the formats; this package decides where a
// call may stand.
//
// # What counts as a call
//
// A format with marks of its own (<tool_call>, [TOOL_CALLS], an invoke element, a
// special token) is a call whatever its name, so that a misspelt name can be
// answered with the right one. A format without marks (a JSON object on its own
// lines, a fenced block, a Python call or a list of them, a name above an object) is a
// call only if every name in it was offered. The only exception is a fenced block that
// is the whole message.
//
// Quoted markup is not a call: inside `code`, in a block quote, between quotation
// marks, in a fenced block with other content, in the middle of a sentence if its
// name was not offered, or inside a reasoning block that ends. The definition of a
// tool is not a call either.
//
// # Laws
//
// The visible text is the text without the markup of the calls: no other byte is
// lost or moved. No call is invented: its name stands in its markup. How the text
// was divided into pieces makes no difference to the result.
//
// A call that broke off keeps its name, and the text of its arguments as a JSON
// string (see [llm.ToolCall]). Half an argument is never completed, since half a
// path may be the user's home directory.
//
// Values in elements have no type in the text. Numbers, true, false and null are
// read as such. Objects and lists stay text unless the format says otherwise, since
// the content of a file may be JSON; the gate coerces text by the tool's schema.
package calltext
