// Package policy answers one question: may this principal make this call?
//
// An app file's capabilities are compiled once into [Rules], and [Decide]
// judges a resolved tool against them. It is a pure function of the rules, the
// tool and the principal: it looks at no argument, no clock and no history, so
// the same call has the same answer wherever it is asked. A tool's module is
// the namespace of its ID and its action is the name, so an alias or a wire
// name never slips past a rule.
//
// # Precedence
//
// deny > approve > grant > risk ceiling > default policy. The lists are ranked
// by kind, not by how narrow a rule is: a deny for shell.* beats a grant for
// shell.ls. Module and action may be "*"; a dotted module (choir.fs) is matched
// whole, so a rule for choir says nothing about it.
//
//   - What is above the ceiling and neither granted nor put on approve is denied.
//   - Without a capabilities block low risk runs, medium runs unless it reaches
//     past the workspace, and the rest asks a human. A risk or a side effect
//     that is not known counts as the worst one.
//   - A tool that asks first turns what would run into a question, whatever the
//     app says.
//   - Hidden tools, constraint-blocked tools and internal tools do not exist for
//     a model, even when a deny rule names them too: a refusal would reveal them.
//   - The kernel's own tools (Runtime.Control) pass the ceiling and the default
//     policy, never a rule that names them; a rule for "*" names them.
//   - The daemon passes whatever is hidden, waits for a human or is too risky.
//     It never passes a deny rule, nor default_policy block, which denies all
//     that no grant or approve rule names.
//
// # Rates
//
// Rules also carry rate limits; a [Limiter] keeps count. Deciding and counting
// are apart because a verdict may be asked for often (a search leaves out what
// is denied) and a call is made once.
package policy
