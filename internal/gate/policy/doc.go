// Package policy decides whether a principal may make a call.
//
// The capabilities of an app file are compiled once into [Rules], and [Decide]
// checks a resolved tool against them. Decide is a pure function of the rules,
// the tool and the principal: it reads no clock and no history, so the same call
// gets the same decision everywhere. A tool's module is the namespace of its ID
// and its action is the name of its ID, so an alias or a wire name never bypasses
// a rule.
//
// # Precedence
//
// data classification > deny > approve > grant > risk ceiling > default policy. The kind of a rule
// decides, not how narrow it is: a deny for shell.* beats a grant for shell.ls.
// Module and action may be "*". A dotted module (choir.fs) is matched whole, so
// a rule for choir does not cover it.
//
//   - A tool whose results may hold data of a class above max_data_classification is
//     denied, whatever grants it, to the daemon too: models are told of what hooks
//     call. One that says no class counts as internal.
//   - A tool above the ceiling that no grant or approve rule names is denied.
//   - Without a capabilities block, low risk runs, medium risk runs unless it
//     reaches past the workspace, and the rest needs approval. An unknown risk or
//     side effect counts as the worst one.
//     Package gate narrows that by shape: a file that programs run by themselves
//     asks to be written; and widens it: a command that only reads runs.
//   - By default a call asks that sends data to a destination which its arguments name,
//     unless that is this machine, and so does one that reads a file named like a secret:
//     see egress.go.
//   - default_policy approve lets the low-risk reads of MCP servers run: a human
//     accepted the server and its definitions. A rule that names them decides.
//   - A tool that asks first needs approval even where the app file grants it.
//   - Hidden tools, constraint-blocked tools and internal tools do not exist for
//     a model, even if a deny rule names them too: a refusal would reveal them.
//   - The kernel's own tools (Runtime.Control) pass the ceiling and the default
//     policy, but not a rule that names them; a rule for "*" names them.
//   - The daemon passes hidden tools, approve rules and the ceiling. It never
//     passes a deny rule, nor default_policy block, which denies every tool that
//     no grant or approve rule names.
//
// # Arguments
//
// A rule with a match is about calls with some arguments only. [Decide] knows no
// arguments: it says what is listed, and a tool that some arguments may use is.
// [DecideCall] decides one call, as if the rules that hold for its arguments had
// no match, and the others did not exist, except that a tool which is granted with some
// arguments does not run by default with others. A grant holds if every part of the call
// fits; a deny or an approve rule if any part does. Where it cannot be told
// whether a deny holds, as with a command that is computed, a human is asked.
//
// # Floor
//
// An app file may come from a stranger, so what it grants counts only once a human
// accepted it. Until then [Rules.Floor] narrows the rules: a call runs unasked only
// where it would without any rules, and needs approval where a grant or
// default_policy auto would let it run. Denies, approves, hides and limits hold from
// the start. [Rules.Wider] says what there is to accept.
//
// A user's own file stands behind that of every project: combine.go says which of
// the two wins.
//
// # Rates
//
// Rules also hold rate limits; a [Limiter] counts the calls. Deciding and
// counting are separate, because a decision may be asked for often (a search
// leaves out denied tools) while a call is made once.
package policy
