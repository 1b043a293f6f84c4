// Package schema checks a tool's arguments and results against JSON Schema. It
// repairs what is safe to repair and explains the rest.
//
// # What a check does
//
// [Schema.Check] decodes the arguments once, fills in the schema's defaults and
// validates. Valid arguments pass unchanged, byte for byte, except that an integer
// is written as plain digits: 2.0 as 2. Otherwise the
// validator reports which values have the wrong type. For those values, and only
// for those, Check tries a safe coercion: "40" to 40, "true" to true, one value
// to a list of one, JSON text to the value it spells, null for an optional
// property to its absence. A coercion counts only if the whole value becomes
// valid with it, and each one is reported. Check never guesses: it picks no
// digits out of text and renames no parameter. [Strict] allows only exact
// numeric and boolean text, [Exact] allows no coercion. If hundreds of values
// are wrong, none is coerced.
//
// Arguments that stay invalid become a [*tool.Error] of kind Invalid. It names
// each wrong field, what was expected and what came, and carries the schema and
// a minimal valid example.
//
// # Dialects
//
// A schema without $schema is 2020-12; draft-07 and the drafts between are
// supported too. Formats are asserted in all of them. Patterns are Go's regular
// expressions. Nothing outside the schema is ever loaded: a $ref that leaves the
// schema is an error.
//
// # Hostile input
//
// Schemas come from strangers and arguments from models, so both are limited
// before the validator sees them: depth, number of values, size of a number, and
// the work that a self-referring schema can cause.
//
// # Subpackages
//
// This package compiles, repairs and reports. The packages below it, each
// importing only those before it: walk traverses schemas and values, limits
// bounds them, phrase words them, diagnose explains problems, and example builds
// a valid value.
package schema
