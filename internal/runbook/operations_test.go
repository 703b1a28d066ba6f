package runbook_test

func operationsCases() map[string]int { return nil }
func localBlocks() []string           { return nil }
