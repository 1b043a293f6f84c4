package conversation

// Window is how many tokens a request may have: what the app says, else what is known
// of the model; 0: nothing is known.
func (c *Conversation) Window() int { return c.fitter.policy.Window }
