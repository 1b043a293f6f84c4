// Package surface decides which tools a reader is shown, and how: an agent, or
// an MCP client that stands in front of one.
//
// # The three modes
//
//	direct          every tool with its whole schema
//	compact_direct  every tool by name and one line; get_tool and execute_tool beside them
//	discovery       the five discovery tools; the rest is found through them
//
// The mode follows from the reader's context window and the size of the tools
// ([Decide]): a fifth of the window is the budget, whatever fits is shown. In
// every mode the granted primitives are shown whole, and so are the tools that
// are pinned or belong to a direct module.
//
// # Law
//
// A [Plan] is the decision with its reasons. Equal input gives an equal plan
// to the byte, so that a prompt cache holds: nothing in it depends on the
// order of a map, on time, or on what was planned before. Schemas keep the
// order their author wrote. A plan is shared and never changed.
//
// # What is counted
//
// A tool counts as the function object of the OpenAI-compatible API,
//
//	{"type": "function", "function": {"name": …, "description": …, "parameters": …}}
//
// with the name, the description and the schema that direct mode would show.
// Without a tokenizer its length is that of Python's json.dumps with its
// defaults (a space after each comma and colon, everything outside ASCII
// as \uXXXX), numbers as their author wrote them, and four characters are one
// token, rounded down for each tool: the rule of thumb that the thresholds
// were made with. A tokenizer is given the same object as it is sent, compact
// and in UTF-8, for no model reads the escapes.
package surface
