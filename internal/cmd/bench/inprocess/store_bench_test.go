package inprocess_test

import (
	"fmt"
	"testing"
	"time"

	"custody/internal/cmd/bench/inprocess"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/signature"
)

// A delivery from its event to its answer, over HTTP and the local DynamoDB.
func BenchmarkAcknowledge(b *testing.B) {
	db, end, err := inprocess.LocalDynamoDB(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer end()
	door, err := inprocess.NewDoor(signature.SchemeTimestamped, dynamostore.New(db, "inbox"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		id := fmt.Sprint(n)
		if _, sum := door.Handler.Handle(b.Context(), door.Request("d-"+id, inprocess.Body("r-"+id), time.Now())); sum.Outcome != inbox.OutcomeAccepted {
			b.Fatal(sum.Problem)
		}
	}
}

// The same write, and nothing else.
func BenchmarkBareClaim(b *testing.B) {
	db, end, err := inprocess.LocalDynamoDB(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer end()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		in, err := inprocess.BareClaim(fmt.Sprint(n))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if _, err := db.TransactWriteItems(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
