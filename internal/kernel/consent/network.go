package consent

// networkText says how much of the network a module's key network gives.
func networkText(network any) []string {
	switch network {
	case nil, false:
		return nil
	case true:
		return []string{"the network (public addresses)"}
	default: // direct, and whatever else it could come to mean
		return []string{"the whole network, this machine's own services included"}
	}
}
