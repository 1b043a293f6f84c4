// Package trust reviews the definitions of upstream MCP servers before any model
// reads them.
//
// A tool's description is text that an unknown author puts into a model's
// prompt. It can be poisoned when it is first seen, and it can change after a
// human has reviewed it. The second is prevented; the first is only made harder.
// So this package has, in this order:
//
//   - Pins ([Store]). A definition that was accepted is kept whole, and is
//     published only while it is exactly the same. A definition that changed or
//     is new waits for a human. So does a local command line that nobody
//     accepted.
//   - A diff ([Diff]), in which nothing is invisible, for that human.
//   - A scan ([Scan]) for what has no honest use in a definition: hidden
//     characters, instructions to the model to deceive its user, requests for
//     secrets, texts about other servers' tools. A serious finding holds a tool
//     at first sight too. An author who knows the rules can avoid them; the scan
//     makes poisoning harder and never proves a definition clean.
//
// The package definition has the definition, its hash and its diff; the package
// scan has the rules of the scan, with what they find in thirteen thousand real
// tools; the package visible shows hidden characters. Their names are repeated
// here, so that users need only this package.
//
// # What is not covered
//
// What a server does when it is called, and what its results say (of resources and
// prompts see package content). What an
// accepted command line runs: npx some-package may run another program tomorrow.
// Somebody who can write into the state directory can accept anything.
package trust

import (
	"callgate/internal/source/mcp/trust/definition"
	"callgate/internal/source/mcp/trust/scan"
	"callgate/internal/visible"
)

type (
	// Definition is how a server defines one of its tools.
	Definition = definition.Definition
	// Hash is the digest of a definition or of a command line.
	Hash = definition.Hash
	// Finding is one thing in a definition that a human should look at.
	Finding = scan.Finding
	// Severity is how grave a finding is.
	Severity = scan.Severity
)

// The severities: a serious finding holds a tool at first sight, a notice is
// only shown.
const (
	Serious = scan.Serious
	Notice  = scan.Notice
)

// Diff shows how a definition differs from an earlier one: see
// [definition.Diff].
func Diff(before, now Definition) string { return definition.Diff(before, now) }

// Scan scans a definition: see [scan.Scan].
func Scan(d Definition, others []string) []Finding { return scan.Scan(d, others) }

// Visible writes a text on one line with nothing hidden: see [visible.Text].
func Visible(s string) string { return visible.Text(s) }
