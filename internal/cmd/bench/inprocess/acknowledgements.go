package inprocess

import (
	"context"
	"fmt"
	"net"
	"net/http"
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
	var ours, bare []float64
	for round := range o.Rounds {
		custody, plain, err := acknowledge(ctx, db, door, o.Deliveries, round)
		if err != nil {
			return f.Without(err.Error())
		}
		ours, bare = append(ours, custody), append(bare, plain)
	}
	f.Context = map[string][]float64{"handler and store, a second": ours, "bare loop, a second": bare}
	return compared(f, ours, bare)
}

// acknowledge is a round: deliveries a second of each contender. Who begins changes with the round.
func acknowledge(ctx context.Context, db *dynamodb.Client, door *Door, n, round int) (ours, bare float64, err error) {
	deliver := make([]func(context.Context) error, n)
	write := make([]func(context.Context) error, n)
	for i := range n {
		id := fmt.Sprintf("%d-%06d", round, i)
		request := door.Request("d-"+id, Body("r-"+id), time.Now())
		deliver[i] = func(ctx context.Context) error {
			if _, sum := door.Handler.Handle(ctx, request); sum.Outcome != inbox.OutcomeAccepted {
				return fmt.Errorf("delivery %s was answered %s: %s", id, sum.Outcome, sum.Problem)
			}
			return nil
		}
		in, err := BareClaim("bare-" + id)
		if err != nil {
			return 0, 0, err
		}
		write[i] = func(ctx context.Context) error {
			_, err := db.TransactWriteItems(ctx, in)
			return err
		}
	}
	contenders := []func() error{
		func() error { ours, err = aSecond(ctx, deliver); return err },
		func() error { bare, err = aSecond(ctx, write); return err },
	}
	for i := range contenders {
		if err := contenders[(i+round)%len(contenders)](); err != nil {
			return 0, 0, err
		}
	}
	return ours, bare, nil
}

// aSecond does all of it and says how many it did in a second.
func aSecond(ctx context.Context, all []func(context.Context) error) (float64, error) {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(senders)
	for _, one := range all {
		group.Go(func() error { return one(ctx) })
	}
	err := group.Wait()
	return float64(len(all)) / time.Since(began).Seconds(), err
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
