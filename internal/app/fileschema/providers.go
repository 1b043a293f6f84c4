package fileschema

// providersBlock is how much is asked of each provider.
func providersBlock() node {
	limits := func(path string, more ...key) node {
		return block(path, append([]key{
			{"rpm", integer(1, 1_000_000), "How many requests begin in a minute at most."},
			{"tpm", integer(1, 1_000_000_000), "How many tokens requests take in a minute at most, read and written."},
			{"max_concurrent", integer(1, 10_000), "How many requests run at once at most."},
		}, more...)...)
	}
	return named(limits("providers.<provider>",
		key{"max_queue", integer(1, 1_000_000), "How many requests wait at most; then the least urgent is refused."},
		key{"max_wait", duration(), "How long a request waits for its turn. Left out: as long as its caller does."},
		key{"cool_down", duration(), "How long a provider that fails is not asked. Default: 30s, with cool_down_after."},
		key{"cool_down_after", integer(1, 1000), "After how many failures in a row. Default: 5, with cool_down."},
		key{"models", named(limits("providers.<provider>.models.<model>")), "Limits of single models, by their names."},
	))
}

// budgetBlock is what models may cost.
func budgetBlock() node {
	limits := func(path string, more ...key) node {
		return block(path, append([]key{
			{"usd_per_day", number(0.0001, 1_000_000), "US dollars in a day at most."},
			{"tokens_per_day", integer(1, 1_000_000_000), "Tokens in a day at most, read and written."},
		}, more...)...)
	}
	return limits("budget",
		key{"unpriced", enum("refuse", "refuse", "count_tokens"),
			"What becomes of a model whose price nobody knows, where dollars are limited."},
		key{"providers", named(limits("budget.providers.<provider>")), "What the models of one provider may cost."},
	)
}
