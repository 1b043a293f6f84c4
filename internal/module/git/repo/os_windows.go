package repo

// nonBlocking is not needed where files are never pipes.
const nonBlocking = 0
