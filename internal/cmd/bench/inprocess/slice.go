package inprocess

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"custody/internal/cleanup"
	"custody/internal/inbox"
)

// PaperSlice works one slice over a bucket on paper, with a store that only counts: what is left is Custody's own work.
func PaperSlice(ctx context.Context, bucket *Paper) (inbox.SliceSummary, error) {
	now := time.Now()
	bucket.Modified = now.Add(-7 * 24 * time.Hour)
	key := inbox.RunKey{Type: "cleanup.run", Key: "r-1"}
	sel := inbox.Selection{Bucket: "objects", Prefixes: []string{"pod/wh-17/"}, Cutoff: now.Add(-24 * time.Hour)}
	run := &PaperRun{Run: inbox.NewRun(key, "warehouse:wh-17", sel, "hash", "d-1", now).Start("wake")}
	worker := cleanup.New(run, NoHolds{}, bucket, cleanup.Settings{
		DeleteScopes: []string{"*"}, DeleteConcurrency: 4, SliceBudget: time.Hour, LeaseDuration: 90 * time.Second,
		ScanCeiling: 10, AttemptCeiling: 12, Retention: 24 * time.Hour,
	}, time.Now, func() string { return "token" })
	_, done := worker.Handle(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
		EventID: "record-1", Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(key.ItemKey())},
			NewImage: map[string]events.DynamoDBAttributeValue{
				"wake": events.NewStringAttribute("wake"), "scope": events.NewStringAttribute("warehouse:wh-17"),
			},
		},
	}}})
	if s := done[0]; s.Outcome != inbox.SliceCompleted || bucket.Deleted() != bucket.Versions {
		return s, fmt.Errorf("the slice ended as %s with %d of %d versions deleted: %s", s.Outcome, bucket.Deleted(), bucket.Versions, s.Problem)
	}
	return done[0], nil
}
