package dynamodb

import (
	"encoding/base64"
	"sort"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// maxRecords and maxRecordBytes bound an answer of GetRecords (API reference: 1,000 records, 1 MB).
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
	// iteratorLife is how long a shard iterator can be used (API reference, GetShardIterator: 15 minutes).
	iteratorLife = 15 * time.Minute
)

type (
	getShardIteratorRequest struct {
		StreamArn         string `json:"StreamArn"`
		ShardID           string `json:"ShardId"`
		ShardIteratorType string `json:"ShardIteratorType"`
		SequenceNumber    string `json:"SequenceNumber"`
	}
	getShardIteratorAnswer struct {
		ShardIterator string `json:"ShardIterator"`
	}
	getRecordsRequest struct {
		ShardIterator string `json:"ShardIterator"`
		Limit         *int   `json:"Limit"`
	}
	getRecordsAnswer struct {
		Records           []record `json:"Records"`
		NextShardIterator string   `json:"NextShardIterator,omitempty"`
	}
)

// iterator is a place in a stream. It travels within the token, so the engine keeps nothing for a reader.
type iterator struct {
	Arn  string `json:"arn"`
	At   int    `json:"at"`   // records before it
	Made int64  `json:"made"` // Unix milliseconds
}

func (e *Engine) iteratorToken(arn string, at int) string {
	b, err := json.Marshal(iterator{arn, at, e.now().UnixMilli()})
	if err != nil {
		panic("an iterator is plain data: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (e *Engine) getShardIterator(in getShardIteratorRequest) (getShardIteratorAnswer, error) {
	s, err := e.stream(in.StreamArn)
	if err != nil {
		return getShardIteratorAnswer{}, err
	}
	if in.ShardID != s.shard {
		return getShardIteratorAnswer{}, faultf(resourceNotFound, "Requested resource not found: Shard: %s in stream: %s not found", in.ShardID, s.arn)
	}
	at, err := s.position(in)
	if err != nil {
		return getShardIteratorAnswer{}, err
	}
	return getShardIteratorAnswer{e.iteratorToken(s.arn, at)}, nil
}

// position is where an iterator of the given type begins.
func (s *stream) position(in getShardIteratorRequest) (int, error) {
	bySequence := in.ShardIteratorType == "AT_SEQUENCE_NUMBER" || in.ShardIteratorType == "AFTER_SEQUENCE_NUMBER"
	if bySequence != (in.SequenceNumber != "") {
		return 0, invalid("SequenceNumber must be given with, and only with, AT_SEQUENCE_NUMBER and AFTER_SEQUENCE_NUMBER; ShardIteratorType: %s", in.ShardIteratorType)
	}
	switch in.ShardIteratorType {
	case "TRIM_HORIZON":
		return 0, nil
	case "LATEST":
		return len(s.records), nil
	case "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER":
		return s.bySequence(in.SequenceNumber, in.ShardIteratorType == "AFTER_SEQUENCE_NUMBER")
	}
	return 0, notOneOf("shardIteratorType", in.ShardIteratorType, []string{"AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER", "LATEST", "TRIM_HORIZON"})
}

func (s *stream) bySequence(number string, behind bool) (int, error) {
	if len(number) != len(firstSequence) || !allDigits(number) {
		return 0, invalid("Invalid SequenceNumber: %s", number)
	}
	at := sort.Search(len(s.records), func(i int) bool { return s.records[i].Change.SequenceNumber >= number })
	if behind && at < len(s.records) && s.records[at].Change.SequenceNumber == number {
		at++
	}
	return at, nil
}

// getRecords returns records from the iterator's place on. The next iterator is absent only at the end of a closed shard,
// which is how a reader knows that nothing will follow.
func (e *Engine) getRecords(in getRecordsRequest) (getRecordsAnswer, error) {
	limit, err := limitWithin(in.Limit, maxRecords)
	if err != nil {
		return getRecordsAnswer{}, err
	}
	it, err := e.readIterator(in.ShardIterator)
	if err != nil {
		return getRecordsAnswer{}, err
	}
	s, err := e.stream(it.Arn)
	if err != nil {
		return getRecordsAnswer{}, err
	}
	out := getRecordsAnswer{Records: []record{}}
	bytes := 0
	for _, r := range s.records[min(it.At, len(s.records)):] {
		if bytes += r.Change.SizeBytes; len(out.Records) == limit || bytes > maxRecordBytes && len(out.Records) > 0 {
			break
		}
		out.Records = append(out.Records, r)
	}
	at := it.At + len(out.Records)
	if !s.closed || at < len(s.records) {
		out.NextShardIterator = e.iteratorToken(it.Arn, at)
	}
	return out, nil
}

func (e *Engine) readIterator(token string) (iterator, error) {
	var it iterator
	b, err := base64.StdEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(b, &it)
	}
	if err != nil || !strings.HasPrefix(it.Arn, "arn:") || it.At < 0 {
		return it, invalid("Invalid ShardIterator")
	}
	if e.now().UnixMilli()-it.Made > iteratorLife.Milliseconds() {
		return it, faultf(expiredIterator, "The shard iterator has expired: it can be used for %s", iteratorLife)
	}
	return it, nil
}
