package inbox

// Claim is what one delivery asks the store to write at once: its own item and the run that it starts.
type Claim struct {
	Delivery Delivery
	Run      Run
}

// Existing is what stood in the way of a claim. A nil part did not.
type Existing struct {
	Delivery *Delivery
	Run      *Run
}

// Verdict says how a refused claim is to be answered.
type Verdict int

const (
	// VerdictConflict is a delivery id or a run key that stands for another command: answer 409.
	VerdictConflict Verdict = iota
	// VerdictDuplicate is the same delivery again: answer 204.
	VerdictDuplicate
	// VerdictAlias is the same command of a known run under another delivery id: record the delivery, then answer 204.
	VerdictAlias
)

// Classify decides what a refused claim means, from the items that refused it. The delivery's own item is asked first:
// where it exists, the run says nothing more. An empty Existing is a conflict, since nothing may be acknowledged by it.
func (c Claim) Classify(e Existing) Verdict {
	switch {
	case e.Delivery != nil && e.Delivery.BodySHA256 == c.Delivery.BodySHA256:
		return VerdictDuplicate
	case e.Delivery != nil:
		return VerdictConflict
	case e.Run != nil && e.Run.CommandHash == c.Run.CommandHash:
		return VerdictAlias
	}
	return VerdictConflict
}
