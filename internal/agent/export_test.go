package agent

// For tests.
var (
	AsText      = asText
	EscapeMarks = escapeMarks
)
