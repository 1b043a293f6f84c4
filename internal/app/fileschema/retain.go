package fileschema

// retainBlock is what is kept for how long.
func retainBlock() node {
	one := func(name string, more ...key) node {
		days := key{"days", integer(1, 36_500), "After how many days it is removed."}
		return block("retain."+name, append([]key{days}, more...)...)
	}
	most := func(name, about string) key { return key{name, integer(1, 1_000_000_000), about} }
	return block("retain",
		key{"journal", one("journal", most("records", "How many of the newest are kept.")),
			"Records of the journal. What is removed leaves a signed summary."},
		key{"conversations", one("conversations", most("count", "How many of the newest are kept.")),
			"Conversations that have ended."},
		key{"tasks", one("tasks"), "Tasks that have ended, and that no conversation is owed."},
		key{"artifacts", one("artifacts", most("megabytes", "How much all of them take before unused ones go.")),
			"Large payloads that no record names."},
		key{"logs", one("logs"), "Old files of the kernel's log."},
	)
}
