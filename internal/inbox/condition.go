package inbox

// Op is how a Condition compares.
type Op int

// The comparisons that a store must be able to make inside one conditional write. An attribute that is absent makes every
// comparison false, as in DynamoDB.
const (
	OpAbsent Op = iota
	OpEqual
	OpNotEqual // asked only of attributes that are there: engines differ on absent ones
	OpLess
	OpAtMost
	OpAtLeast
	OpAll
	OpAny
)

// Condition is what must hold in the stored item for a move to be written. It is data: a store renders it, a test walks it.
type Condition struct {
	Op   Op
	Attr Attribute   // for all but OpAll and OpAny
	With Param       // what the attribute is compared with
	Of   []Condition // for OpAll and OpAny
}

func absent(a Attribute) Condition            { return Condition{Op: OpAbsent, Attr: a} }
func equal(a Attribute, p Param) Condition    { return Condition{Op: OpEqual, Attr: a, With: p} }
func notEqual(a Attribute, p Param) Condition { return Condition{Op: OpNotEqual, Attr: a, With: p} }
func less(a Attribute, p Param) Condition     { return Condition{Op: OpLess, Attr: a, With: p} }
func atMost(a Attribute, p Param) Condition   { return Condition{Op: OpAtMost, Attr: a, With: p} }
func atLeast(a Attribute, p Param) Condition  { return Condition{Op: OpAtLeast, Attr: a, With: p} }
func all(of ...Condition) Condition           { return Condition{Op: OpAll, Of: of} }
func anyOf(of ...Condition) Condition         { return Condition{Op: OpAny, Of: of} }

// The conditions that several moves share. Each is a function since a Condition holds a slice.

// due: no next attempt is set, or its time has come.
func due() Condition { return anyOf(absent(AttrNextAttemptAt), atMost(AttrNextAttemptAt, ParamNow)) }

// noLiveLease: no slice holds the run, or its lease has run out.
func noLiveLease() Condition {
	return anyOf(absent(AttrLeaseExpiresAt), atMost(AttrLeaseExpiresAt, ParamNow))
}

// notMade: this very operation is not the last one that was made with the run. A request whose answer was lost is repeated, and the
// repetition may come when the run has run to its next end: it would start it once more, and nobody asked for that.
func notMade() Condition {
	return anyOf(absent(AttrOperation), notEqual(AttrOperation, ParamOperation))
}

// mine: the lease is still the one this worker took. A worker that lost it is refused at its next write.
func mine() Condition { return equal(AttrLeaseToken, ParamToken) }
