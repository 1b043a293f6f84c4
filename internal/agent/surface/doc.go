// Package surface decides which tools a reader sees, and in which form. A reader is
// an agent's model, or an MCP client with a model behind it.
//
// # The three modes
//
//	direct          every tool with its whole schema
//	compact_direct  every tool by name and one line; get_tool and execute_tool beside them
//	discovery       the five discovery tools; the model finds the others with them
//
// The mode follows from the reader's context window and the size of the tools
// ([Decide]): the budget is a fifth of the window, and the fullest mode within it
// wins. In every mode the granted primitives are shown whole, and so are tools
// that are pinned or belong to a direct module, and for an agent the tools by which it
// keeps its memory and has others work for it ([IsOperational]).
//
// # Law
//
// A [Plan] is the decision with its reasons. Equal input gives a byte-identical
// plan, so that prompt caches stay valid: nothing in it depends on the order of a
// map, on time, or on earlier plans. Schemas keep the order of their author. A
// plan is shared and never changed.
//
// # The size of a tool
//
// A tool counts as the function object of the OpenAI-compatible API,
//
//	{"type": "function", "function": {"name": …, "description": …, "parameters": …}}
//
// with the name, the description and the schema that direct mode would show.
// Without a tokenizer its length is that of Python's json.dumps with its
// defaults (a space after each comma and colon, everything outside ASCII
// as \uXXXX, numbers as written), and four characters are one token, rounded down
// for each tool: the rule that the thresholds were made with. A tokenizer gets the
// object as it is sent, compact and in UTF-8, because no model sees the escapes.
package surface
