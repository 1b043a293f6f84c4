package repo

// withoutWaiting is not needed where files are never pipes.
const withoutWaiting = 0
