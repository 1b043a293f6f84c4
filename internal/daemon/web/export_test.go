package web

// MaxSessions is how many sessions one token may have open.
const MaxSessions = maxSessions
