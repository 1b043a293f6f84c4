package fileschema

// usersBlock is what holds for the users of a kernel.
func usersBlock() node {
	return block("users",
		key{"admin_reads", node{"enum": []any{"metadata", "contents"}},
			"What an administrator reads of what others asked: metadata (who, when, which tool, how it stands, what it " +
				"cost; also where it is left out), or contents, and then each reading is on record."},
	)
}
