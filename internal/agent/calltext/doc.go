// Package calltext finds tool calls in the words of a model.
//
// Some models are not given tools by their provider and write their calls into
// their answer, as the prompt asks them to; others have tools and still fall
// back into text, in whatever form they were trained on. This package knows
// those forms, reads them as they stream in, and hands back the calls and the
// words without them.
//
// # What counts as a call
//
// A form with marks of its own (<tool_call>, [TOOL_CALLS], an invoke element, a
// special token) is a call whatever its name, so that a misspelt name can be
// answered with the right one. A form without marks (a JSON object on its own
// lines, a fenced block, a list of Python calls, a name above an object) is a
// call only if every name in it is one that was offered; the one exception is a
// fenced block that is the whole message.
//
// What is quoted is no call: inside `code`, in a block quote, between quotation
// marks, in a fenced block that holds anything else, in the middle of a
// sentence when its name was not offered, or inside a thought that ends. A
// tool's definition is no call either.
//
// # Laws
//
// The words shown are the text without the markup of the calls, and nothing
// else: taking out the markup loses no byte and changes no order. No call is
// invented: its name stands in its markup. How the text was cut into pieces
// makes no difference to what comes out.
//
// A call that broke off keeps its name, and what came of its arguments as a
// JSON string (see [llm.ToolCall]): half an argument is never completed, since
// half a path may be somebody's home.
//
// Values that stand in elements have no type in the text. Numbers, true, false
// and null are read as such; objects and lists stay text unless the form says
// otherwise, since a file's content may be JSON, and the door reads text by the
// schema where it asks for more.
package calltext
