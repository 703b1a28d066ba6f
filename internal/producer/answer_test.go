package producer_test

import (
	"testing"

	"custody/internal/inbox"
	"custody/internal/producer"
	"custody/internal/webhook"
)

func TestOnlyWhatIsDurableIsAcknowledged(t *testing.T) {
	t.Parallel()
	if producer.HeaderOutcome != webhook.HeaderOutcome {
		t.Errorf("the outcome is looked for in %s", producer.HeaderOutcome)
	}
	seen := map[producer.Answer]bool{}
	for _, a := range producer.Answers() {
		if got := a.Verdict == producer.Acknowledged; got != (a.Status == 204) || got != a.Outcome.Committed() {
			t.Errorf("%d %s is %s", a.Status, a.Outcome, a.Verdict)
		}
		if a.Means == "" || a.Do == "" {
			t.Errorf("%d %s has no words", a.Status, a.Outcome)
		}
		if got := producer.Explain(a.Status, a.Outcome); got != a {
			t.Errorf("%d %s is explained as %+v", a.Status, a.Outcome, got)
		}
		key := producer.Answer{Status: a.Status, Outcome: a.Outcome}
		if seen[key] {
			t.Errorf("%d %s is listed twice", a.Status, a.Outcome)
		}
		seen[key] = true
	}
}

func TestAnswersThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for sentence, c := range map[string]struct {
		status  int
		outcome inbox.Outcome
		want    producer.Verdict
	}{
		"a 204 of something else, such as a proxy": {204, "", producer.Refused},
		"a 204 of a later version":                 {204, "postponed", producer.Acknowledged},
		"a 200":                                    {200, "", producer.Refused},
		"a 200 with an outcome":                    {200, "accepted", producer.Refused},
		"a redirect":                               {308, "", producer.Refused},
		"a 404 of something else":                  {404, "", producer.Refused},
		"a 400 with a later version's outcome":     {400, "postponed", producer.Refused},
		"a 429 with an outcome":                    {429, "retryable_failure", producer.Again},
		"a 504 of a proxy":                         {504, "", producer.Again},
		"a 500 without an outcome":                 {500, "", producer.Again},
		"a 503 of a proxy":                         {503, "", producer.Again},
	} {
		got := producer.Explain(c.status, c.outcome)
		if got.Verdict != c.want || got.Means == "" || got.Do == "" || got.Status != c.status || got.Outcome != c.outcome {
			t.Errorf("%s: %+v, want %s", sentence, got, c.want)
		}
	}
}
