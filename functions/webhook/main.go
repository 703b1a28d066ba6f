// Command webhook is the function behind the function URL: each signed delivery becomes one durable claim and one answer.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"custody/internal/command"
	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/keyring"
	"custody/internal/signature"
	"custody/internal/telemetry"
	"custody/internal/webhook"
)

func main() {
	settings, err := config.LoadWebhook(os.Environ())
	tel := telemetry.New(os.Stdout, settings.Stack, settings.LogLevel)
	var handler *webhook.Handler
	if err == nil {
		handler, err = build(context.Background(), settings)
	}
	if err != nil {
		tel.StartupError(err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, req events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		answer, summary := handler.Handle(ctx, req)
		tel.Delivery(ctx, summary)
		return answer, nil
	})
}

func build(ctx context.Context, s config.Webhook) (*webhook.Handler, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(attempts(s.AckTimeout)))
	if err != nil {
		return nil, err
	}
	scheme, err := signature.Named(s.SignatureScheme)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(cfg, s, scheme)
	if err != nil {
		return nil, err
	}
	commands, err := command.NewDecoder(command.Settings{
		Accepted: s.Commands, Bucket: s.Bucket, MinObjectAge: s.MinObjectAge,
		WarehousePrefixes: s.WarehousePrefixes, ListingPrefixes: s.ListingPrefixes,
	})
	if err != nil {
		return nil, err
	}
	store := dynamostore.New(dynamodb.NewFromConfig(cfg), s.Table)
	return webhook.New(webhook.Handler{
		Settings: webhook.Settings{
			Path: s.Path, MaxBodyBytes: s.MaxBodyBytes, ReplayWindow: s.ReplayWindow, AckTimeout: s.AckTimeout,
			RecordOnly: s.RecordOnly, Retention: time.Duration(s.RetentionDays) * 24 * time.Hour,
		},
		Scheme: scheme, Keys: keys, Commands: commands,
		Store: store, Reservations: dynamostore.NewReservations(store, s.ReservationsTable),
	})
}

// keysOf takes the keyring itself where it was given, and the secret otherwise; the settings hold exactly one of them.
func keysOf(cfg aws.Config, s config.Webhook, scheme signature.Scheme) (webhook.Keys, error) {
	if !s.SigningKeys.IsZero() {
		return keyring.NewStatic(s.SigningKeys.Reveal(), scheme)
	}
	return keyring.NewSecret(secretsmanager.NewFromConfig(cfg), s.SigningSecret, scheme, time.Now), nil
}

// attempts bounds each attempt of a call, so that one dead connection does not use up all the time that there is for the answer:
// the SDK then tries again on another. A claim whose attempt was given up may be made all the same; the next one finds it.
func attempts(ackTimeout time.Duration) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTimeout(ackTimeout * 2 / 5)
}
