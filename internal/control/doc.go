// Package control holds the kernel's own tools: those by which a model finds
// and calls the others (module context_builder), and the one by which it comes
// back for a call that a human had to approve (module approvals).
//
// # Law
//
// A control tool holds no locks and decides nothing. What it shows is what its
// session may see, in the session's own words ([Session]); what it calls goes
// through the gate again, as a call of its own whose parent is the control
// tool's call, and its answer is the target's answer. They are exempt from an
// app's policy by their identity, which only the kernel can give, never by
// their name. None of them answers an approval: collecting only looks.
package control
