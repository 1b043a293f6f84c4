// Package scan scans the definitions of MCP tools for what has no honest use in
// them.
//
// # Rules
//
// On hidden characters: tag-characters, bidi-control, direction-mark,
// invisible, variation-selectors, soft-hyphens, private-use, terminal-escape,
// control, padding. A single one, as copying leaves behind, is a notice; several
// in a run, one inside a word, or any in a name are serious. A character that a
// script or an emoji needs is not reported.
//
// On names: mixed-scripts, look-alike-name.
//
// On phrases: override-instructions, conceal-from-user (both in a dozen
// languages), instruction-block, role-marker, skip-approval, secrets,
// conversation, redirect, preference, html-comment, hidden-markup, image,
// fake-call, retires-other-tool. They are patterns of whole phrases, matched in a
// folded text (see fold), so that wide letters, look-alikes and invisible
// characters do not help to avoid them. A phrase that is only spoken of, as the
// tools against attacks do, is a notice.
//
// On sentences: secrets, conversation, sends-away, redirect, conceal-from-user,
// skip-approval, harmful-order, steers-answers, shadows-other-tool. The words of a
// sentence have marks (see lexicon), and a sentence with the marks of an intent
// gets points for all of them (see intents and weights).
//
// On form: encoded-text, data-url, long-text, malformed, too-much-to-scan. An
// encoded text is decoded, and what it says is scanned (see scanner.decoded).
//
// On the names of parameters: secrets, conversation. A model fills in what a
// parameter is called.
//
// On other servers: shadows-other-tool, refers-to-other-tool. A definition may
// mention the tools of its own server.
//
// # What they find
//
// The page docs/guides/scanner.md has the numbers: recall by class on the
// definitions of testdata/corpus, and false alarms there and on the 13,017 tools
// of a public catalogue. TestCorpus, TestCatalogIsMostlyClean, TestHardRealTools
// and TestPublicSets count them again.
//
// An attacker who reads this package can write a definition that is not found.
package scan
