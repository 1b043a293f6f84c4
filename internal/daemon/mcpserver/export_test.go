package mcpserver

// MaxOfVisitor is how many sessions the clients with one token may have.
const MaxOfVisitor = maxOfVisitor
