// Package trust judges the definitions that upstream MCP servers bring, before
// any model reads them.
//
// A tool's description is text that a stranger puts into a model's prompt. It
// can be poisoned when it is first seen, and it can change after a human has
// looked at it. Against the second there is a law; against the first only a
// net with holes. So this package is, in this order:
//
//   - Pins ([Store]). What was accepted is kept whole, and only what is exactly
//     so is published. What changed or is new waits for a human. So does a
//     local command line that nobody accepted.
//   - A diff ([Diff]), in which nothing is invisible, for that human.
//   - A scan ([Scan]) for what has no honest use in a definition: hidden
//     characters, orders to the model to deceive its user, requests for
//     secrets, words about other servers' tools. What it calls serious is held
//     at first sight too. Whoever knows its rules can write around them; it
//     makes poisoning harder to do and never proves a definition clean.
//
// The words of a definition, its hash and its diff stand in package
// definition; the rules of the scan, with what they find in thirteen thousand
// real tools, in package scan; how hidden characters are shown in package
// visible. Their names are repeated here, so that users need only this one.
//
// # What is not covered
//
// What a server does when it is called, and what its results say. What lies
// behind an accepted command line: npx some-package may run another program
// tomorrow. Whoever can write into the state directory can accept anything.
package trust

import (
	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/source/mcp/trust/scan"
	"callgate/internal/source/mcp/trust/visible"
)

type (
	// Definition is what a server says of one of its tools.
	Definition = definition.Definition
	// Hash is the digest of a definition or of a command line.
	Hash = definition.Hash
	// Finding is one thing in a definition that a human should look at.
	Finding = scan.Finding
	// Severity says what a finding does.
	Severity = scan.Severity
)

// The severities: a serious finding holds a tool at first sight, a notice is
// only shown.
const (
	Serious = scan.Serious
	Notice  = scan.Notice
)

// Diff shows how a definition differs from one before: see [definition.Diff].
func Diff(before, now Definition) string { return definition.Diff(before, now) }

// Scan looks through a definition: see [scan.Scan].
func Scan(d Definition, others []string) []Finding { return scan.Scan(d, others) }

// Visible writes a text on one line with nothing hidden in it: see
// [visible.Text].
func Visible(s string) string { return visible.Text(s) }
