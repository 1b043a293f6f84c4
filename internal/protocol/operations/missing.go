package operations

// MissingHeader names, in the answer that is a list of what several nodes have, those that did not give their part:
// names as in a query, with commas between them.
const MissingHeader = "Callgate-Missing-Nodes"
