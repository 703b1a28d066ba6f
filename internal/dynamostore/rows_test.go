package dynamostore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/inbox"
)

func TestRowsAreReadOldestFirstAndABadOneIsPassedBy(t *testing.T) {
	t.Parallel()
	s, db := storeOver(t, nil)
	for i := range 5 {
		c := claim(fmt.Sprintf("d-%d", i))
		c.Run.Key = fmt.Sprintf("r-%d", i)
		c.Run.OpenSince = now.Add(-time.Duration(i) * time.Minute)
		if i == 4 {
			c.Run = c.Run.Record()
		}
		if existing, err := s.Claim(t.Context(), c); err != nil || existing != nil {
			t.Fatalf("claim: %+v, %v", existing, err)
		}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	set := &types.AttributeValueMemberSS{Value: []string{"w"}}
	for pk, row := range map[string]struct{ wake, since types.AttributeValue }{
		"odd":               {text("w"), number("1000")},
		"run#cleanup.run#x": {set, number("1001")},
		"run#cleanup.run#y": {set, number("1000.5")}, // an index takes any number
		"run#cleanup.run#z": {set, number("1e30")},
	} {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: map[string]types.AttributeValue{
			"pk": text(pk), "open": text("open"), "open_since": row.since, "wake": row.wake,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	bad := map[string]time.Time{}
	for run, err := range s.Rows(t.Context(), "open") {
		if row, ok := errors.AsType[*inbox.BadRow](err); ok {
			bad[row.ItemKey] = row.OpenSince
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, run.RunKey().String())
		if run.State != inbox.StatePending || run.Scope == "" || run.Wake == "" || run.ReceivedAt.IsZero() {
			t.Errorf("the index does not project what a sweep needs: %+v", run)
		}
	}
	want := []string{"cleanup.run/r-3", "cleanup.run/r-2", "cleanup.run/r-1", "cleanup.run/r-0"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	since := map[string]time.Time{
		"odd": time.UnixMilli(1000).UTC(), "run#cleanup.run#x": time.UnixMilli(1001).UTC(), "run#cleanup.run#y": {}, "run#cleanup.run#z": {},
	}
	if diff := cmp.Diff(since, bad); diff != "" {
		t.Errorf("bad rows (-want +got):\n%s", diff)
	}
}

func TestRowsPageThroughMoreThanAMegabyte(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	const n = 700
	wide := string(make([]byte, 0))
	for range 1024 {
		wide += "wh"
	}
	for i := range n {
		c := claim(fmt.Sprintf("d-%d", i))
		c.Run.Key, c.Run.Scope = fmt.Sprintf("r-%d", i), "warehouse:"+wide
		if existing, err := s.Claim(t.Context(), c); err != nil || existing != nil {
			t.Fatalf("claim: %+v, %v", existing, err)
		}
	}
	seen := map[string]bool{}
	for run, err := range s.Rows(t.Context(), "open") {
		if err != nil {
			t.Fatal(err)
		}
		seen[run.Key] = true
	}
	if len(seen) != n {
		t.Errorf("%d rows, want %d", len(seen), n)
	}
}
