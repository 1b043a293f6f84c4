package undoing_test

const doomedVariable = "CALLGATE_TEST_UNDO"

func beDoomed(string) {}
