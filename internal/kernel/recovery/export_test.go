package recovery

// CloseAged closes the doubts that are old at a time.
var CloseAged = (*Recovery).closeAged
