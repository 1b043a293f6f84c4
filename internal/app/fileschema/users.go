package fileschema

// usersBlock is what holds for the users of a kernel.
func usersBlock() node {
	limits := func(path string) node {
		const most = 2_000_000_000
		return block(path,
			key{"usd_per_day", number(0.0001, 1_000_000), "US dollars that models may cost in a day at most."},
			key{"usd_per_month", number(0.0001, 1_000_000), "US dollars that models may cost in a month at most."},
			key{"tokens_per_day", integer(1, most), "Tokens in a day at most, read and written."},
			key{"tokens_per_month", integer(1, most), "Tokens in a month at most, read and written."},
			key{"calls_per_minute", integer(1, most), "Calls of tools in a minute at most."},
			key{"calls_per_day", integer(1, most), "Calls of tools in a day at most."},
			key{"calls_at_once", integer(1, most), "Calls of tools that run at once at most."},
			key{"sessions_at_once", integer(1, most), "Sessions and conversations that are open at once at most."},
		)
	}
	return block("users",
		key{"admin_reads", node{"enum": []any{"metadata", "contents"}},
			"What an administrator reads of what others asked: metadata (who, when, which tool, how it stands, what it " +
				"cost; also where it is left out), or contents, and then each reading is on record."},
		key{"limits", block("users.limits",
			key{"default", limits("users.limits.default"), "The limits of each user."},
			key{"users", named(limits("users.limits.users.<user>")),
				"The limits of single users, by their names. Each stands in the place of the default one."},
			key{"teams", named(limits("users.limits.teams.<team>")), "The limits of teams: of all their members together."},
			key{"unpriced", enum("refuse", "refuse", "count_tokens"),
				"What becomes of a model whose price nobody knows, where dollars are limited."},
		), "How much users and teams may use. Days and months are those of UTC; with a shared database they hold for all nodes."},
	)
}
