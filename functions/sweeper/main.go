// Command sweeper is the function that runs every minute: it wakes runs that got stuck and publishes the age of the oldest.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"custody/internal/config"
	"custody/internal/dynamostore"
	"custody/internal/sweeper"
	"custody/internal/telemetry"
)

func main() {
	settings, err := config.LoadSweeper(os.Environ())
	tel := telemetry.New(os.Stdout, settings.Stack, settings.LogLevel)
	if err != nil {
		tel.StartupError(err)
		os.Exit(1)
	}
	aws, err := awsconfig.LoadDefaultConfig(context.Background())
	if err != nil {
		tel.StartupError(err)
		os.Exit(1)
	}
	store := dynamostore.New(dynamodb.NewFromConfig(aws), settings.Table)
	sweep := sweeper.New(store, sweeper.Settings{
		WakeAfter: settings.WakeAfter, Limit: settings.SweepLimit, AttemptCeiling: settings.AttemptCeiling,
	})
	if settings.ReservationsTable != "" {
		sweep.Reservations = dynamostore.NewReservations(store, settings.ReservationsTable)
	}
	// The event says only that it is time. A tick never fails the invocation: what went wrong is in its line and its metrics,
	// and the next tick is the retry.
	lambda.Start(func(ctx context.Context) error {
		tel.Sweep(ctx, sweep.Tick(ctx))
		return nil
	})
}
