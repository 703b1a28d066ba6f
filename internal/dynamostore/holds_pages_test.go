package dynamostore_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"custody/internal/dynamostore"
)

// DynamoDB answers at most 1 MB at once. A hold on the second page counts like one on the first.
func TestHoldsOnLaterPagesAreRead(t *testing.T) {
	t.Parallel()
	_, db := storeOver(t, nil)
	const rows = 4 // of some 390 KB, below the 400 KB that an item may have
	for i := range rows {
		row := map[string]types.AttributeValue{}
		for name, v := range map[string]string{
			"scope": "warehouse:wh-17", "hold_id": fmt.Sprint("h-", i), "key": fmt.Sprint("pod/wh-17/", i), "reason": "legal_hold",
			"note": strings.Repeat("n", 390<<10),
		} {
			row[name] = &types.AttributeValueMemberS{Value: v}
		}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("holds"), Item: row}); err != nil {
			t.Fatal(err)
		}
	}
	holds, err := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler)).Covering(t.Context(), "warehouse:wh-17")
	if err != nil || len(holds) != rows {
		t.Errorf("%d holds, error %v, want %d", len(holds), err, rows)
	}
}

// Both partitions are asked at once. One that cannot be read is an error, whatever the other says, and of two errors it is always the
// run's own scope that is named: a category that chance picks would let the same outage look like two.
func TestHoldsOfWhichAPartCannotBeReadAreNone(t *testing.T) {
	t.Parallel()
	const own = "warehouse:wh-17"
	for name, tt := range map[string]struct {
		refused []string
		named   string
	}{
		"the scope":     {[]string{own}, own},
		"those for all": {[]string{"*"}, "*"},
		"both":          {[]string{"*", own}, own},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, db := storeOver(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					r.Body = io.NopCloser(bytes.NewReader(body))
					refused := slices.ContainsFunc(tt.refused, func(scope string) bool { return bytes.Contains(body, []byte(`"S":"`+scope+`"`)) })
					if err == nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && refused {
						w.WriteHeader(http.StatusBadRequest)
						_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#AccessDeniedException"}`))
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			holds, err := dynamostore.NewHolds(db, "holds", slog.New(slog.DiscardHandler)).Covering(t.Context(), own)
			if err == nil || holds != nil || !strings.HasPrefix(err.Error(), "read the holds of "+tt.named+": ") {
				t.Errorf("%d holds, error %v, want that of %s", len(holds), err, tt.named)
			}
		})
	}
}
