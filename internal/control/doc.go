// Package control holds the kernel's own tools, those by which a model finds
// and calls the others: module context_builder.
//
// # Law
//
// A control tool holds no locks and decides nothing. What it shows is what its
// session may see, in the session's own words ([Session]); what it calls goes
// through the door again, as a call of its own whose parent is the control
// tool's call, and its answer is the target's answer. They are exempt from an
// app's policy by their identity, which only the kernel can give, never by
// their name.
package control
