package dynamodb

import "time"

// maxOverdue is how long past its time an item may be and still be removed: what expired more than five years ago is
// kept, as a guard against wrong units (developer guide, "Using time to live", "TTL attribute").
const maxOverdue = 5 * 365 * 24 * time.Hour

type timeToLive struct {
	AttributeName string `json:"AttributeName"`
	Enabled       bool   `json:"Enabled"`
}

type updateTimeToLiveRequest struct {
	TableName               string      `json:"TableName"`
	TimeToLiveSpecification *timeToLive `json:"TimeToLiveSpecification"`
}

type updateTimeToLiveAnswer struct {
	TimeToLiveSpecification timeToLive `json:"TimeToLiveSpecification"`
}

type timeToLiveDescription struct {
	TimeToLiveStatus string `json:"TimeToLiveStatus"`
	AttributeName    string `json:"AttributeName,omitempty"`
}

type describeTimeToLiveAnswer struct {
	TimeToLiveDescription timeToLiveDescription `json:"TimeToLiveDescription"`
}

func (e *Engine) updateTimeToLive(in updateTimeToLiveRequest) (updateTimeToLiveAnswer, error) {
	t, err := e.table(in.TableName)
	if err != nil {
		return updateTimeToLiveAnswer{}, err
	}
	want := in.TimeToLiveSpecification
	if want == nil || want.AttributeName == "" {
		return updateTimeToLiveAnswer{}, invalid("1 validation error detected: Value null at 'timeToLiveSpecification.attributeName' failed to satisfy constraint: Member must not be null")
	}
	if err := t.checkTimeToLive(*want); err != nil {
		return updateTimeToLiveAnswer{}, err
	}
	t.ttl = ""
	if want.Enabled {
		t.ttl = want.AttributeName
	}
	return updateTimeToLiveAnswer{*want}, nil
}

func (t *table) checkTimeToLive(want timeToLive) error {
	switch {
	case t.ttl == "" && !want.Enabled:
		return invalid("TimeToLive is already disabled")
	case t.ttl != "" && t.ttl != want.AttributeName:
		return invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
	case t.ttl != "" && want.Enabled:
		return invalid("TimeToLive is already enabled")
	}
	return nil
}

func (e *Engine) describeTimeToLive(in tableRequest) (describeTimeToLiveAnswer, error) {
	t, err := e.table(in.TableName)
	if err != nil {
		return describeTimeToLiveAnswer{}, err
	}
	d := timeToLiveDescription{TimeToLiveStatus: "DISABLED"}
	if t.ttl != "" {
		d = timeToLiveDescription{TimeToLiveStatus: "ENABLED", AttributeName: t.ttl}
	}
	return describeTimeToLiveAnswer{d}, nil
}

// ExpireItems removes every item whose time to live has passed and returns how many there were. AWS does so by itself
// within days; here it happens when asked, so that a test decides. The stream records name the service as their author,
// which is how a consumer tells them from a delete (developer guide, "DynamoDB Streams and time to live").
func (e *Engine) ExpireItems() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	removed := 0
	for _, t := range e.tables {
		if t.ttl == "" {
			continue
		}
		for _, r := range t.expired(e.now()) {
			e.apply(change{table: t, code: r.code, before: r.item, author: &identity{PrincipalID: "dynamodb.amazonaws.com", Type: "Service"}})
			removed++
		}
	}
	return removed
}

// expired collects rows first, because removing one while walking would move the others.
func (t *table) expired(now time.Time) []row {
	var out []row
	newest := decimalOf(now.Unix())
	oldest := decimalOf(now.Add(-maxOverdue).Unix())
	for r := range t.rows.up(span{}) {
		v, ok := r.item[t.ttl]
		if ok && v.kind == kindNumber && v.number.compare(newest) < 0 && v.number.compare(oldest) > 0 {
			out = append(out, r)
		}
	}
	return out
}
