package producer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"custody/internal/producer"
	"custody/internal/signature"
)

// receiver plays answers, one a try, and keeps what it was sent. The last one is played for ever.
type receiver struct {
	answers []string // status, outcome and Retry-After, or a word for what is no answer
	got     []sent
	now     func() time.Time
}

type sent struct {
	at      time.Duration // since the first
	headers map[string]string
	body    string
}

var errBroken = errors.New("connection reset")

func (r *receiver) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{}
	for name := range request.Header {
		headers[strings.ToLower(name)] = request.Header.Get(name)
	}
	r.got = append(r.got, sent{r.now().Sub(start()), headers, string(body)})
	answer := r.answers[min(len(r.got), len(r.answers))-1]
	switch answer {
	case "broken":
		return nil, errBroken
	case "silent":
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	words := strings.SplitN(answer, " ", 3)
	status, err := strconv.Atoi(words[0])
	if err != nil {
		return nil, err
	}
	response := &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: request,
	}
	response.Header.Set("Date", r.now().Add(-time.Minute).UTC().Format(http.TimeFormat))
	for i, name := range []string{producer.HeaderOutcome, "Retry-After"} {
		if i+1 < len(words) && words[i+1] != "-" {
			response.Header.Set(name, words[i+1])
		}
	}
	if status == 307 {
		response.Header.Set("Location", "https://elsewhere.example/")
	}
	return response, nil
}

// start is when each test sends, with a clock of ten digits: the bubble's own begins in 2000.
func start() time.Time { return time.Unix(1_790_000_000, 0) }

// play sends one delivery within a bubble, and gives its result and what arrived.
func play(t *testing.T, scheme signature.Scheme, keyText string, change func(*producer.Sender), answers ...string) (producer.Result, []sent) {
	t.Helper()
	var result producer.Result
	r := &receiver{answers: answers}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r.now = func() time.Time { return start().Add(time.Since(began)) }
		s := producer.Sender{
			Signer: producer.Signer{Scheme: scheme, Key: signature.NewKey("k1", keyText, time.Time{})},
			URL:    "https://custody.example/", Tries: 5, Within: time.Hour, Patience: 10 * time.Second, Transport: r, Now: r.now,
		}
		if change != nil {
			change(&s)
		}
		var err error
		if result, err = s.Send(t.Context(), producer.Delivery{ID: "d-1", Body: []byte(`{"a":1}`)}); err != nil {
			t.Error(err)
		}
	})
	return result, r.got
}

func TestSendStopsAtAnAnswerThatIsFinal(t *testing.T) {
	t.Parallel()
	for _, a := range producer.Answers() {
		if a.Verdict == producer.Again {
			continue
		}
		r, got := play(t, signature.Timestamped{}, "key", nil, fmt.Sprintf("%d %s", a.Status, a.Outcome))
		if r.Answer != a || r.Tries != 1 || len(got) != 1 || r.Stop != "" || r.Acknowledged() != (a.Status == 204) {
			t.Errorf("%d %s: %+v after %d requests", a.Status, a.Outcome, r, len(got))
		}
	}
	if r, got := play(t, signature.Timestamped{}, "key", nil, "307", "204 accepted"); r.Status != 307 || r.Acknowledged() || len(got) != 1 {
		t.Errorf("a redirect was followed: %+v, %d requests", r, len(got))
	}
}

func TestSendRepeatsWithAFreshSignatureAndTheSameDelivery(t *testing.T) {
	t.Parallel()
	for name, keyText := range map[string]string{
		signature.SchemeTimestamped: "key", signature.SchemeBody: "key", signature.SchemeStandardWebhooks: "whsec_a2V5",
	} {
		scheme, err := signature.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		r, got := play(t, scheme, keyText, nil, "503 retryable_failure 5", "broken", "silent", "429 -", "204 already_processed")
		if !r.Acknowledged() || r.Tries != 5 || len(got) != 5 {
			t.Fatalf("%s: %+v after %d requests", name, r, len(got))
		}
		for i, s := range got {
			at := start().Add(s.at).Truncate(time.Second)
			want := map[string]string{"content-type": "application/json"}
			for header, value := range scheme.Sign(signature.NewKey("k1", keyText, time.Time{}), "d-1", at, []byte(`{"a":1}`)) {
				want[strings.ToLower(header)] = value
			}
			if diff := cmp.Diff(want, s.headers); diff != "" || s.body != `{"a":1}` {
				t.Errorf("%s, try %d: body %s, headers (-want +got):\n%s", name, i+1, s.body, diff)
			}
		}
	}
}

func TestABodyIsChangedBehindItsSignature(t *testing.T) {
	t.Parallel()
	change := func(s *producer.Sender) {
		s.Change = func(body []byte) []byte { return append([]byte(" "), body...) }
	}
	r, got := play(t, signature.Timestamped{}, "key", change, "503 -", "401 rejected")
	signed := signature.Timestamped{}.Sign(signature.NewKey("k1", "key", time.Time{}), "d-1", start().Add(got[1].at).Truncate(time.Second), []byte(`{"a":1}`))
	if r.Status != 401 || len(got) != 2 || got[0].body != ` {"a":1}` || got[1].body != ` {"a":1}` {
		t.Errorf("%+v after %+v", r, got)
	}
	for header, value := range signed {
		if got[1].headers[strings.ToLower(header)] != value {
			t.Errorf("%s is %s, of what was signed it is %s", header, got[1].headers[strings.ToLower(header)], value)
		}
	}
}

func TestHowLongSendWaits(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		answer      string
		least, most time.Duration // between the first and the second try
	}{
		"the seconds that were asked for, and a little more": {"503 retryable_failure 7", 7 * time.Second, 7700 * time.Millisecond},
		"until the date that was asked for":                  {"503 not_due " + start().Add(200*time.Second).UTC().Format(http.TimeFormat), 200 * time.Second, 220 * time.Second},
		"a second or so when nothing was asked for":          {"502 -", 500 * time.Millisecond, time.Second},
		"a second or so for a date that has passed":          {"503 - " + start().Add(-time.Hour).UTC().Format(http.TimeFormat), 500 * time.Millisecond, time.Second},
		"a second or so for what cannot be read":             {"503 - soon", 500 * time.Millisecond, time.Second},
		"a second or so for a negative time":                 {"503 - -5", 500 * time.Millisecond, time.Second},
		"the whole of an answer that does not come first":    {"silent", 10500 * time.Millisecond, 11 * time.Second},
	} {
		_, got := play(t, signature.Timestamped{}, "key", nil, c.answer, "204 accepted")
		if len(got) != 2 || got[1].at < c.least || got[1].at > c.most {
			t.Errorf("%s: requests at %+v", sentence, got)
		}
	}
	_, got := play(t, signature.Timestamped{}, "key", func(s *producer.Sender) { s.Tries, s.Within = 14, 24*time.Hour }, "500 retryable_failure")
	for i := 1; i < len(got); i++ {
		whole := min(time.Second<<(i-1), 5*time.Minute)
		if wait := got[i].at - got[i-1].at; wait < whole/2 || wait > whole {
			t.Errorf("behind try %d it waited %s, want up to %s", i, wait, whole)
		}
	}
	if len(got) != 14 {
		t.Errorf("%d tries", len(got))
	}
}

func TestSendGivesUpAndSaysWhy(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		change  func(*producer.Sender)
		answer  string
		want    int // requests
		stopped string
	}{
		"after its tries":                  {nil, "503 retryable_failure 5", 5, "it was sent 5 times"},
		"after its only try":               {func(s *producer.Sender) { s.Tries = 1 }, "broken", 1, "it was sent once"},
		"when the next would be too late":  {func(s *producer.Sender) { s.Within = 2 * time.Minute }, "503 not_due 300", 1, "more than is left of 2m0s"},
		"at once, for a wait of centuries": {nil, "503 not_due 99999999999999999", 1, "more than is left of 1h0m0s"},
	} {
		r, got := play(t, signature.Timestamped{}, "key", c.change, c.answer)
		if len(got) != c.want || r.Tries != c.want || !strings.Contains(r.Stop, c.stopped) || r.Acknowledged() {
			t.Errorf("%s: %d requests, %+v", sentence, len(got), r)
		}
	}
	if r, _ := play(t, signature.Timestamped{}, "key", nil, "broken"); !errors.Is(r.Err, errBroken) {
		t.Errorf("the last try has the error %v", r.Err)
	}
	if r, _ := play(t, signature.Timestamped{}, "key", nil, "401 rejected"); r.Ahead != time.Minute {
		t.Errorf("the clock is %s ahead, want the minute that the receiver is behind", r.Ahead)
	}
}

func TestSendEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"503 retryable_failure 60", "silent"} {
		synctest.Test(t, func(t *testing.T) {
			cause := errors.New("interrupted")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*time.Second, func() { cancel(cause) })
			s := producer.Sender{
				Signer: producer.Signer{Scheme: signature.Timestamped{}, Key: signature.NewKey("", "key", time.Time{})},
				URL:    "https://custody.example/", Tries: 9, Within: time.Hour, Patience: 30 * time.Second, Now: start,
				Transport: &receiver{answers: []string{answer}, now: start},
			}
			r, err := s.Send(ctx, producer.Delivery{ID: "d-1", Body: []byte("{}")})
			if !errors.Is(err, cause) || r.Tries != 1 {
				t.Errorf("%s: error %v, %+v", answer, err, r)
			}
		})
	}
}

func TestWhatCannotBeSignedIsNotSent(t *testing.T) {
	t.Parallel()
	good := signature.NewKey("k1", "key", time.Time{})
	for sentence, c := range map[string]struct {
		scheme signature.Scheme
		key    signature.Key
		id     string
		at     time.Time
		want   string
	}{
		"a blank key":                       {signature.Timestamped{}, signature.NewKey("k1", " ", time.Time{}), "d-1", start(), "the signing key must not be blank"},
		"a key of another scheme":           {signature.StandardWebhooks{}, good, "d-1", start(), "the signing key must be whsec_"},
		"a delivery id with a slash":        {signature.Body{}, good, "d/1", start(), "X-Delivery-ID must be"},
		"a full stop where it parts fields": {signature.StandardWebhooks{}, signature.NewKey("", "whsec_a2V5", time.Time{}), "d.1", start(), "webhook-id must have no full stop"},
		"a time of nine digits":             {signature.Timestamped{}, good, "d-1", time.Unix(999_999_999, 0), "X-Delivery-Timestamp must be"},
	} {
		r := &receiver{answers: []string{"204 accepted"}, now: start}
		s := producer.Sender{
			Signer: producer.Signer{Scheme: c.scheme, Key: c.key}, URL: "https://custody.example/", Tries: 1,
			Patience: time.Second, Transport: r, Now: func() time.Time { return c.at },
		}
		result, err := s.Send(t.Context(), producer.Delivery{ID: c.id, Body: []byte("{}")})
		if err == nil || !strings.Contains(err.Error(), c.want) || len(r.got) != 0 || result.Tries != 0 {
			t.Errorf("%s: error %v, %d requests", sentence, err, len(r.got))
		}
		if isKey := strings.Contains(c.want, "key"); isKey != isKeyError(err) {
			t.Errorf("%s: error %T", sentence, err)
		}
	}
}

func isKeyError(err error) bool {
	_, ok := errors.AsType[*producer.KeyError](err)
	return ok
}

func TestIDsAndContentTypes(t *testing.T) {
	t.Parallel()
	a, b := producer.NewID(), producer.NewID()
	if a == b || !signature.ValidID(a) || strings.Contains(a, ".") {
		t.Errorf("ids %q and %q", a, b)
	}
	for body, want := range map[string]string{
		`{"a":"ü🙂"}`: "application/json", "\xff": "application/octet-stream", "": "application/json",
	} {
		if got := producer.ContentType([]byte(body)); got != want {
			t.Errorf("content type of %q: %s", body, got)
		}
	}
}
