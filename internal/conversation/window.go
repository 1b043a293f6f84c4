package conversation

// Window is how many tokens a request may have: what the app says, else what is known
// of the model; 0: nothing is known.
func (c *Conversation) Window() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fitter.Policy.Window
}
