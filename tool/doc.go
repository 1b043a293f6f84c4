// Package tool is the vocabulary of Callgate: what a tool is, who asks for it,
// what it touches, and what comes back.
//
// It is the lowest layer: it imports nothing of Callgate and is imported by
// everything, so it holds types and their laws, and no machinery.
//
// # Names
//
// A tool has one identity and several names:
//
//	ID      fs.local:read@1.2.0   what the registry stores and the journal records
//	dotted  fs.local.read         what a model and an app file say
//	wire    fs__local__read       what a provider's API accepts (at most 64 bytes of [A-Za-z0-9_-])
//	short   Read                  a tool's own ergonomic name, optional
//
// # Two views
//
// [Spec] is all that a model may ever see. [Runtime] never leaves the kernel:
// effects, risk, limits, secrets. A [Tool] joins both with its [Handler], and
// only the gate invokes a handler.
//
// # One call
//
// A [Call] carries identity, approval and parentage beside its arguments,
// never inside them: no argument can approve itself. A handler receives the
// call and a [Grant], which is everything it may reach. What comes back is a
// [Result], and a failure inside it is an [*Error] with an operation, a [Kind]
// and words that say what to do next.
package tool
