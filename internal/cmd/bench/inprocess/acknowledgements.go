package inprocess

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"custody/internal/cmd/bench/results"
	"custody/internal/dynamostore"
	"custody/internal/inbox"
	"custody/internal/localaws"
	localdb "custody/internal/localaws/dynamodb"
	"custody/internal/localaws/steady"
	"custody/internal/signature"
)

// senders is how many deliveries are on their way at once, of either contender.
const senders = 8

// Acknowledgements holds deliveries through handler and store against a bare loop of the same TransactWriteItems, whose items are
// made beforehand: what a delivery costs beyond its write.
func Acknowledgements(ctx context.Context, o Options) results.Figure {
	f := results.Figure{
		Measure: "acknowledgements a second", Contender: "handler and store", Against: "a bare loop of the same TransactWriteItems",
		Unit: results.UnitRatio, Target: results.AtLeast(0.85),
	}
	db, end, err := LocalDynamoDB(ctx)
	if err != nil {
		return f.Without(err.Error())
	}
	defer end()
	door, err := NewDoor(signature.SchemeTimestamped, dynamostore.New(db, "inbox"))
	if err != nil {
		return f.Without(err.Error())
	}
	n, made := max(1, o.Deliveries/turns), 0
	deliver := func() (func() error, error) { made++; return sending(ctx, n, delivering(door, made)) }
	write := func() (func() error, error) { made++; return sending(ctx, n, writing(db, made)) }
	took, err := interleaved(o.Rounds, deliver, write)
	if err != nil {
		return f.Without(err.Error())
	}
	ours, bare := aSecond(took[0], n*turns), aSecond(took[1], n*turns)
	f.Context = map[string][]float64{"handler and store, a second": ours, "bare loop, a second": bare}
	return compared(f, ours, bare)
}

func aSecond(seconds []float64, n int) []float64 {
	rates := make([]float64, len(seconds))
	for i, s := range seconds {
		rates[i] = float64(n) / s
	}
	return rates
}

// sending makes what is sent, and sends it in as many loops as there are senders.
func sending(ctx context.Context, n int, made func(i int) (func(context.Context) error, error)) (func() error, error) {
	all := make([]func(context.Context) error, n)
	for i := range all {
		var err error
		if all[i], err = made(i); err != nil {
			return nil, err
		}
	}
	return func() error {
		group, ctx := errgroup.WithContext(ctx)
		var next atomic.Int64
		for range senders {
			group.Go(func() error {
				for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
					if err := all[i](ctx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		return group.Wait()
	}, nil
}

// delivering makes the next delivery of a turn, and what sends it.
func delivering(door *Door, turn int) func(i int) (func(context.Context) error, error) {
	return func(i int) (func(context.Context) error, error) {
		id := fmt.Sprintf("%d-%06d", turn, i)
		request := door.Request("d-"+id, Body("r-"+id), time.Now())
		return func(ctx context.Context) error {
			if _, sum := door.Handler.Handle(ctx, request); sum.Outcome != inbox.OutcomeAccepted {
				return fmt.Errorf("delivery %s was answered %s: %s", id, sum.Outcome, sum.Problem)
			}
			return nil
		}, nil
	}
}

// writing makes the next transaction of a turn, and what sends it.
func writing(db *dynamodb.Client, turn int) func(i int) (func(context.Context) error, error) {
	return func(i int) (func(context.Context) error, error) {
		in, err := BareClaim(fmt.Sprintf("%d-%06d", turn, i))
		return func(ctx context.Context) error {
			_, err := db.TransactWriteItems(ctx, in)
			return err
		}, err
	}
}

// BareClaim is the transaction of a claim, with items of the same attributes and sizes.
func BareClaim(id string) (*dynamodb.TransactWriteItemsInput, error) {
	door, err := NewDoor(signature.SchemeTimestamped, Nowhere{})
	if err != nil {
		return nil, err
	}
	body, now := Body("r-"+id), time.Now()
	cmd, err := door.Decoder.Decode(body)
	if err != nil {
		return nil, err
	}
	delivery := inbox.Delivery{
		ID: "d-" + id, CommandType: cmd.Type, BodySHA256: cmd.Hash, Outcome: inbox.OutcomeAccepted, ReceivedAt: now, TTL: now.Unix(), RunKey: cmd.Run.Key,
	}
	run := inbox.NewRun(cmd.Run, cmd.Scope, cmd.Selection, cmd.Hash, delivery.ID, now).Start("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	var in dynamodb.TransactWriteItemsInput
	for pk, value := range map[string]any{delivery.ItemKey(): delivery, run.RunKey().ItemKey(): run} {
		item, err := attributevalue.MarshalMapWithOptions(value, func(o *attributevalue.EncoderOptions) {
			o.TagKey = "json"
			o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
				return &types.AttributeValueMemberN{Value: fmt.Sprint(t.UnixMilli())}, nil
			}
		})
		if err != nil {
			return nil, err
		}
		item["pk"] = &types.AttributeValueMemberS{Value: pk}
		table, condition := "inbox", "attribute_not_exists(pk)"
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &table, Item: item, ConditionExpression: &condition,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}})
	}
	return &in, nil
}

// LocalDynamoDB serves the local engine, over HTTP as the real one is.
func LocalDynamoDB(ctx context.Context) (*dynamodb.Client, func(), error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the local DynamoDB: %w", err)
	}
	server := &http.Server{Handler: localdb.New(localdb.Options{}), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with Close
	end := func() { _ = server.Close() }
	endpoint := "http://" + listener.Addr().String()
	db := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: steady.Client{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err := (localaws.Tables{Inbox: "inbox"}).Make(ctx, db); err != nil {
		end()
		return nil, nil, err
	}
	return db, end, nil
}
