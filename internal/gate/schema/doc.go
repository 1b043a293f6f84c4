// Package schema holds a tool's arguments and results against JSON Schema:
// it mends what is safe to mend, and explains what is not.
//
// # What a check does
//
// [Schema.Check] reads the arguments once, fills in the schema's defaults and
// validates. Arguments that are valid as they came go on byte for byte. When
// they are not, the validator's own complaints say where a value has the wrong
// type, and there, and only there, a safe reading is tried: "40" for 40,
// "true" for true, one value for a list of one, JSON text for what it spells,
// null for an optional property that is absent. A reading counts only if the
// whole becomes valid with it, and each one is reported. Nothing is guessed: no
// digits are picked out of text, no parameter is renamed. [Strict] leaves only
// exact numeric and boolean text, [Exact] leaves nothing. Where hundreds of
// values are wrong, none is mended.
//
// What stays wrong becomes a [*tool.Error] of kind Invalid that names each
// field, what was expected and what came, and carries the schema and a
// minimal example that is valid under it.
//
// # Dialects
//
// A schema without $schema is read as 2020-12; draft-07 and the drafts between
// are read as such. Formats are asserted in all of them. Patterns are Go's
// regular expressions. Nothing outside the schema is ever loaded: a $ref that
// leaves it is an error.
//
// # Hostile input
//
// Schemas come from strangers and arguments from models, so both are bounded
// before the validator sees them: depth, bulk, the size of a number, and the
// work that a schema which refers to itself can ask for.
//
// # Rooms
//
// This package compiles, mends and answers. Below it, each importing only those
// before it: walk finds the way through a schema and a value, guard bounds
// them, words puts them into words, fault says what is wrong, and example shows
// what would be right.
package schema
