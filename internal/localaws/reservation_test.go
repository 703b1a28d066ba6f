package localaws_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"custody/internal/dynamostore"
	"custody/internal/localaws"
	"custody/internal/localaws/lambda"
)

// journal keeps the functions' log lines, and wakes whoever waits for one.
type journal struct {
	mu    sync.Mutex
	lines []map[string]any
	grown chan struct{} // closed and replaced with each line
}

func newJournal() *journal { return &journal{grown: make(chan struct{})} }

func (j *journal) take(_ lambda.Process, line string) {
	var fields map[string]any
	if json.Unmarshal([]byte(line), &fields) != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fields)
	close(j.grown)
	j.grown = make(chan struct{})
}

// next waits for a line behind the given ones that fits, and says how many there are up to it. The test's own deadline bounds it.
func (j *journal) next(t *testing.T, behind int, fits func(map[string]any) bool) (map[string]any, int) {
	t.Helper()
	for {
		j.mu.Lock()
		for ; behind < len(j.lines); behind++ {
			if line := j.lines[behind]; fits(line) {
				j.mu.Unlock()
				return line, behind + 1
			}
		}
		grown := j.grown
		j.mu.Unlock()
		select {
		case <-grown:
		case <-t.Context().Done():
			t.Fatal("the line never came")
		}
	}
}

// sweep fits a sweeper's line whose overdue age the condition takes.
func sweep(overdue func(seconds float64) bool) func(map[string]any) bool {
	return func(line map[string]any) bool {
		age, known := line["oldest_overdue_reservation_age_s"].(float64)
		return line["msg"] == "sweep" && known && overdue(age)
	}
}

func reserve(t *testing.T, s *localaws.Stack, id, status string, deadline time.Time) {
	t.Helper()
	_, err := s.DynamoDB().PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(s.Setting("CUSTODY_RESERVATIONS_TABLE")), Item: map[string]types.AttributeValue{
			"reservation_id": &types.AttributeValueMemberS{Value: id}, "status": &types.AttributeValueMemberS{Value: status},
			"expires_at": &types.AttributeValueMemberN{Value: strconv.FormatInt(deadline.UnixMilli(), 10)},
			"seat":       &types.AttributeValueMemberS{Value: "12B"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reservation is what stands there, but for the time of the transition, which is returned beside it; empty where there is none.
func reservation(t *testing.T, s *localaws.Stack, id string) (texts map[string]string, expiredAt time.Time) {
	t.Helper()
	out, err := s.DynamoDB().GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(s.Setting("CUSTODY_RESERVATIONS_TABLE")), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"reservation_id": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for name, v := range out.Item {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			texts[name] = v.Value
		case *types.AttributeValueMemberN:
			if name != "expired_at" {
				texts[name] = v.Value
				continue
			}
			ms, err := strconv.ParseInt(v.Value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			expiredAt = time.UnixMilli(ms)
		}
	}
	return texts, expiredAt
}

func reservationExpire(id string, deadline time.Time) string {
	return fmt.Sprintf(`{"type":"reservation.expire","reservationId":%q,"titleId":"t-1","expiresAt":%q}`, id, deadline.UTC().Format(time.RFC3339Nano))
}

func standing(id, status string, deadline time.Time) map[string]string {
	return map[string]string{"reservation_id": id, "status": status, "expires_at": strconv.FormatInt(deadline.UnixMilli(), 10), "seat": "12B"}
}

func TestAnOverdueReservationIsSeenAndExpiresByItsDelivery(t *testing.T) {
	t.Parallel()
	lines := newJournal()
	stack := start(t, localaws.Options{Output: lines.take})
	_, seen := lines.next(t, 0, sweep(func(age float64) bool { return age == 0 }))
	deadline := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	reserve(t, stack, "r-overdue", "held", deadline)
	reserve(t, stack, "r-paid", "paid", deadline.Add(-time.Hour))
	reserve(t, stack, "r-extended", "held", time.Now().Add(time.Hour))
	_, seen = lines.next(t, seen, sweep(func(age float64) bool { return age >= 3600 && age < 7200 }))

	body := reservationExpire("r-overdue", deadline)
	before := time.Now().Truncate(time.Millisecond)
	for _, c := range []struct{ id, body, want string }{
		{"d-paid", reservationExpire("r-paid", deadline.Add(-time.Hour)), "204 no_longer_held"},
		{"d-extended", reservationExpire("r-extended", deadline), "204 no_longer_held"},
		{"d-missing", reservationExpire("r-missing", deadline), "204 no_longer_held"},
		{"d-1", body, "204 expired"},
		{"d-1", body, "204 already_processed"},
		{"d-2", body, "204 no_longer_held"},
		{"d-1", reservationExpire("r-paid", deadline), "409 conflict"},
		{"d-early", reservationExpire("r-extended", time.Now().Add(2*time.Minute)), "503 not_due"},
		{"d-late", reservationExpire("r-extended", time.Now().Add(time.Hour)), "422 rejected"},
		{"d-odd", reservationExpire("r/odd", deadline), "422 rejected"},
		{"d-paid", reservationExpire("r-paid", deadline.Add(-time.Hour)), "204 already_processed"},
	} {
		if got := deliver(t, stack, c.id, c.body); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.id, c.body, got, c.want)
		}
	}
	got, at := reservation(t, stack, "r-overdue")
	if diff := cmp.Diff(standing("r-overdue", "expired", deadline), got); diff != "" || at.Before(before) || at.After(time.Now()) {
		t.Errorf("expired at %s (-want +got):\n%s", at, diff)
	}
	got, at = reservation(t, stack, "r-paid")
	if diff := cmp.Diff(standing("r-paid", "paid", deadline.Add(-time.Hour)), got); diff != "" || !at.IsZero() {
		t.Errorf("paid, expired at %s (-want +got):\n%s", at, diff)
	}
	if got, _ := reservation(t, stack, "r-missing"); len(got) > 0 {
		t.Errorf("the missing one became %v", got)
	}
	line, _ := lines.next(t, seen, func(line map[string]any) bool { return line["delivery_id"] == "d-1" && line["outcome"] == "expired" })
	if _, run := line["run"]; run || line["reservation_id"] != "r-overdue" || line["command_type"] != "reservation.expire" {
		t.Errorf("line %v", line)
	}
	lines.mu.Lock()
	behind := len(lines.lines)
	lines.mu.Unlock()
	lines.next(t, behind, sweep(func(age float64) bool { return age == 0 }))
}

// The payment lands when the expiry is on its way already: the table decides, and the reservation stays paid for.
func TestAReservationPaidInTheLastMomentStaysPaid(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	deadline := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	reserve(t, stack, "r-1", "held", deadline)
	arrived, paid := make(chan struct{}), make(chan struct{})
	var first sync.Once
	g.set(func(_ http.ResponseWriter, r *http.Request, _ []byte, _ http.Handler) bool {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			first.Do(func() { close(arrived) })
			select {
			case <-paid:
			case <-r.Context().Done():
			}
		}
		return false
	})
	answered := make(chan string, 1)
	go func() { answered <- deliver(t, stack, "d-1", reservationExpire("r-1", deadline)) }()
	<-arrived
	reserve(t, stack, "r-1", "paid", deadline)
	close(paid)
	if got := <-answered; got != "204 no_longer_held" {
		t.Errorf("answer %s", got)
	}
	if got, at := reservation(t, stack, "r-1"); got["status"] != "paid" || !at.IsZero() {
		t.Errorf("reservation %v, expired at %s", got, at)
	}
}

// Every answer about the expiry is lost behind its commit: no success is promised, and the redelivery finds it.
func TestAnExpiryWhoseAnswerIsLostIsFoundByTheRedelivery(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap})
	deadline := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	reserve(t, stack, "r-1", "held", deadline)
	g.set(func(w http.ResponseWriter, r *http.Request, _ []byte, engine http.Handler) bool {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
			return false
		}
		engine.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	body := reservationExpire("r-1", deadline)
	if got := deliver(t, stack, "d-1", body); got != "503 retryable_failure" {
		t.Errorf("with every answer lost: %s", got)
	}
	_, expiredAt := reservation(t, stack, "r-1")
	g.set(nil)
	if got := deliver(t, stack, "d-1", body); got != "204 already_processed" {
		t.Errorf("the redelivery: %s", got)
	}
	if got, again := reservation(t, stack, "r-1"); got["status"] != "expired" || expiredAt.IsZero() || !again.Equal(expiredAt) {
		t.Errorf("reservation %v, expired at %s and then %s", got, expiredAt, again)
	}
}

func TestInTheRecordOnlyStageNoReservationExpires(t *testing.T) {
	t.Parallel()
	g := &gate{}
	stack := start(t, localaws.Options{WrapDynamoDB: g.wrap, Settings: map[string]string{"CUSTODY_RECORD_ONLY": "true"}})
	deadline := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	reserve(t, stack, "r-1", "held", deadline)
	if got := deliver(t, stack, "d-1", reservationExpire("r-1", deadline)); got != "503 retryable_failure" {
		t.Errorf("answer %s", got)
	}
	store := dynamostore.New(stack.DynamoDB(), stack.Setting("CUSTODY_TABLE"))
	if d, err := store.Delivery(t.Context(), "d-1"); d != nil || err != nil || g.count("TransactWriteItems") > 0 {
		t.Errorf("delivery %+v, %v, %d transactions", d, err, g.count("TransactWriteItems"))
	}
	if got, _ := reservation(t, stack, "r-1"); got["status"] != "held" {
		t.Errorf("reservation %v", got)
	}
}
