package dynamostore_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
)

func claim(delivery string) inbox.Claim {
	return inbox.Claim{Delivery: newDelivery(delivery), Run: newRun().Start("wake-" + delivery)}
}

func TestAClaimWritesBothItemsOrNeither(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	first := claim("d-1")
	if existing, err := s.Claim(t.Context(), first); err != nil || existing != nil {
		t.Fatalf("the first claim: %+v, %v", existing, err)
	}
	if diff := cmp.Diff(first.Run, stored(t, s)); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	again, err := s.Claim(t.Context(), claim("d-1"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&inbox.Existing{Delivery: &first.Delivery, Run: &first.Run}, again); diff != "" {
		t.Errorf("what refused the copy (-want +got):\n%s", diff)
	}
	other, err := s.Claim(t.Context(), claim("d-2"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&inbox.Existing{Run: &first.Run}, other); diff != "" {
		t.Errorf("what refused another delivery of the run (-want +got):\n%s", diff)
	}
	alias := newDelivery("d-2")
	if there, err := s.Alias(t.Context(), alias); err != nil || there != nil {
		t.Fatalf("the alias: %+v, %v; the refused claim must not have written the delivery", there, err)
	}
	there, err := s.Alias(t.Context(), alias)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&alias, there); diff != "" {
		t.Errorf("what refused the alias (-want +got):\n%s", diff)
	}
}

func TestOfManyClaimsAtOnceOneCommits(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	committed := 0
	for range 16 {
		wg.Go(func() {
			existing, err := s.Claim(t.Context(), claim("d-1"))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if existing == nil {
				committed++
			}
		})
	}
	wg.Wait()
	if committed != 1 {
		t.Errorf("%d of 16 claims committed, want 1", committed)
	}
}

func TestACommitWhoseAnswerIsLostIsFoundAgain(t *testing.T) {
	t.Parallel()
	lost := false
	losing := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") && !lost {
				lost = true
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	engine := localdb.New(localdb.Options{})
	db := clientOf(t, losing(engine), 3)
	if err := (localaws.Tables{Inbox: tableName}).Make(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s := dynamostore.New(db, tableName)
	c := claim("d-1")
	existing, err := s.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// The SDK repeats the call; its token makes the repetition a success, or the items answer for it.
	if existing != nil && c.Classify(*existing) != inbox.VerdictDuplicate {
		t.Errorf("the repeated claim is refused by %+v", existing)
	}
}

func TestACancelledTransactionIsADuplicateByItsConditionsAlone(t *testing.T) {
	t.Parallel()
	item := `"Item":{"pk":{"S":"delivery#d-1"},"body_sha256":{"S":"body"}}`
	reason := func(code string, more ...string) string {
		return `{"Code":"` + code + `","Message":"m"` + strings.Join(append([]string{""}, more...), ",") + `}`
	}
	tests := map[string]struct {
		reasons     []string
		unavailable bool
		calls       int
	}{
		"condition and none":                {[]string{reason("ConditionalCheckFailed", item), reason("None")}, false, 1},
		"both conditions":                   {[]string{reason("ConditionalCheckFailed", item), reason("ConditionalCheckFailed")}, false, 1},
		"a delivery that is not shown":      {[]string{reason("ConditionalCheckFailed"), reason("None")}, true, 1},
		"a run that is not shown":           {[]string{reason("None"), reason("ConditionalCheckFailed")}, true, 1},
		"a delivery not shown beside a run": {[]string{reason("ConditionalCheckFailed"), reason("ConditionalCheckFailed", item)}, true, 1},
		"conflict and none":                 {[]string{reason("TransactionConflict"), reason("None")}, true, 5},
		"condition and conflict":            {[]string{reason("ConditionalCheckFailed", item), reason("TransactionConflict")}, true, 5},
		"condition and throttle":            {[]string{reason("ConditionalCheckFailed", item), reason("ThrottlingError")}, true, 1},
		"condition and throughput":          {[]string{reason("ConditionalCheckFailed", item), reason("ProvisionedThroughputExceeded")}, true, 1},
		"condition and validation":          {[]string{reason("ConditionalCheckFailed", item), reason("ValidationError")}, true, 1},
		"condition and a size that is over": {[]string{reason("ConditionalCheckFailed", item), reason("ItemCollectionSizeLimitExceeded")}, true, 1},
		"none and none":                     {[]string{reason("None"), reason("None")}, true, 1},
		"no reasons":                        {nil, true, 1},
		"one reason of two":                 {[]string{reason("ConditionalCheckFailed", item)}, true, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			s, _ := storeOver(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					calls++
					fault(w, "TransactionCanceledException", `,"CancellationReasons":[`+strings.Join(tt.reasons, ",")+`]`)
				})
			})
			existing, err := s.Claim(t.Context(), claim("d-1"))
			if got := errors.Is(err, inbox.ErrUnavailable); got != tt.unavailable || !got && (err != nil || existing.Delivery == nil) {
				t.Errorf("existing %+v, error %v, want unavailable: %v", existing, err, tt.unavailable)
			}
			if calls != tt.calls {
				t.Errorf("%d calls, want %d", calls, tt.calls)
			}
		})
	}
}

func TestAStoreThatFailsIsUnavailableAndNeverADuplicate(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{
		"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError",
		"ResourceNotFoundException", "AccessDeniedException", "TransactionInProgressException",
		"IdempotentParameterMismatchException", "ValidationException", "UnrecognizedClientException",
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			s, _ := storeOver(t, func(http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fault(w, typ, "") })
			})
			if existing, err := s.Claim(t.Context(), claim("d-1")); existing != nil || !errors.Is(err, inbox.ErrUnavailable) {
				t.Errorf("claim: %+v, %v", existing, err)
			}
			if there, err := s.Alias(t.Context(), newDelivery("d-1")); there != nil || !errors.Is(err, inbox.ErrUnavailable) {
				t.Errorf("alias: %+v, %v", there, err)
			}
			if _, err := s.Move(t.Context(), key, inbox.Wake(), change()); !errors.Is(err, inbox.ErrUnavailable) {
				t.Errorf("move: %v", err)
			}
			for _, err := range s.Rows(t.Context(), "open") {
				if !errors.Is(err, inbox.ErrUnavailable) {
					t.Errorf("rows: %v", err)
				}
			}
		})
	}
}

func TestAnItemThatWouldNotFitIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	s, _ := storeOver(t, nil)
	c := claim("d-1")
	c.Run.Selection.Prefixes = []string{strings.Repeat("x", 400*1024)}
	if _, err := s.Claim(t.Context(), c); !errors.Is(err, inbox.ErrTooLarge) {
		t.Fatalf("error %v, want ErrTooLarge", err)
	}
	c.Run.Selection.Prefixes = []string{strings.Repeat("x", 398*1024)}
	if existing, err := s.Claim(t.Context(), c); err != nil || existing != nil {
		t.Errorf("an item that fits: %+v, %v", existing, err)
	}
}
