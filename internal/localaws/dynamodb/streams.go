package dynamodb

import (
	"maps"
	"slices"
)

// maxStreamsListed is the page size of ListStreams and DescribeStream (API reference: 1 to 100, default 100).
const maxStreamsListed = 100

type (
	listStreamsRequest struct {
		TableName               string `json:"TableName"`
		Limit                   *int   `json:"Limit"`
		ExclusiveStartStreamArn string `json:"ExclusiveStartStreamArn"`
	}
	listStreamsAnswer struct {
		Streams                []streamName `json:"Streams"`
		LastEvaluatedStreamArn string       `json:"LastEvaluatedStreamArn,omitempty"`
	}
	streamName struct {
		StreamArn   string `json:"StreamArn"`
		StreamLabel string `json:"StreamLabel"`
		TableName   string `json:"TableName"`
	}
	describeStreamRequest struct {
		StreamArn             string `json:"StreamArn"`
		Limit                 *int   `json:"Limit"`
		ExclusiveStartShardID string `json:"ExclusiveStartShardId"`
	}
	describeStreamAnswer struct {
		StreamDescription streamDescription `json:"StreamDescription"`
	}
	streamDescription struct {
		streamName
		StreamStatus            string             `json:"StreamStatus"`
		StreamViewType          string             `json:"StreamViewType"`
		CreationRequestDateTime float64            `json:"CreationRequestDateTime"`
		KeySchema               []keySchemaElement `json:"KeySchema"`
		Shards                  []shard            `json:"Shards"`
	}
	shard struct {
		ShardID             string        `json:"ShardId"`
		SequenceNumberRange sequenceRange `json:"SequenceNumberRange"`
	}
	sequenceRange struct {
		StartingSequenceNumber string `json:"StartingSequenceNumber"`
		EndingSequenceNumber   string `json:"EndingSequenceNumber,omitempty"`
	}
)

// listStreams lists streams by ARN, those of deleted tables included.
func (e *Engine) listStreams(in listStreamsRequest) (listStreamsAnswer, error) {
	limit, err := limitWithin(in.Limit, maxStreamsListed)
	if err != nil {
		return listStreamsAnswer{}, err
	}
	out := listStreamsAnswer{Streams: []streamName{}}
	for _, arn := range slices.Sorted(maps.Keys(e.streams)) {
		s := e.streams[arn]
		if arn <= in.ExclusiveStartStreamArn || in.TableName != "" && s.table != in.TableName {
			continue
		}
		if len(out.Streams) == limit {
			out.LastEvaluatedStreamArn = out.Streams[limit-1].StreamArn
			break
		}
		out.Streams = append(out.Streams, s.name())
	}
	return out, nil
}

func (s *stream) name() streamName { return streamName{s.arn, s.label, s.table} }

// stream finds a stream by ARN.
func (e *Engine) stream(arn string) (*stream, error) {
	if arn == "" {
		return nil, missing("streamArn")
	}
	s, ok := e.streams[arn]
	if !ok {
		return nil, faultf(resourceNotFound, "Requested resource not found: Stream: %s not found", arn)
	}
	return s, nil
}

func (e *Engine) describeStream(in describeStreamRequest) (describeStreamAnswer, error) {
	s, err := e.stream(in.StreamArn)
	if err != nil {
		return describeStreamAnswer{}, err
	}
	if _, err := limitWithin(in.Limit, maxStreamsListed); err != nil {
		return describeStreamAnswer{}, err
	}
	d := streamDescription{
		streamName:              s.name(),
		StreamStatus:            "ENABLED",
		StreamViewType:          s.view,
		CreationRequestDateTime: seconds(s.created),
		KeySchema:               s.keys,
		Shards:                  []shard{},
	}
	if s.closed {
		d.StreamStatus = "DISABLED"
	}
	if in.ExclusiveStartShardID == "" { // behind the only shard there is none
		d.Shards = append(d.Shards, shard{s.shard, s.sequences()})
	}
	return describeStreamAnswer{d}, nil
}

// sequences is the range of a shard; only a closed one has an end.
func (s *stream) sequences() sequenceRange {
	r := sequenceRange{StartingSequenceNumber: firstSequence}
	if len(s.records) == 0 {
		return r
	}
	r.StartingSequenceNumber = s.records[0].Change.SequenceNumber
	if s.closed {
		r.EndingSequenceNumber = s.records[len(s.records)-1].Change.SequenceNumber
	}
	return r
}

// firstSequence stands in for the number of a first record that is not there yet.
const firstSequence = "100000000000000000000000"
