package contenders

import (
	"context"
	"os"
	"time"

	"custody/internal/cmd/bench/server"
)

// Contender is one way to delete every version below prefixes.
type Contender struct {
	Name    string
	Version string // "" for Custody's own
	// Share is which part of the versions it is given, as a divisor; 0 is all. Who starts a program for each page takes
	// the same time for each, and would take up the whole run.
	Share int
	// Run deletes everything below the job's prefix.
	Run func(ctx context.Context, j Job) (Outcome, error)
}

// Versions is how many versions the contender is given where others get so many.
func (c Contender) Versions(all int) int {
	if c.Share < 2 {
		return all
	}
	return max(1, all/c.Share)
}

// Job is what a contender is to do.
type Job struct {
	Server *server.Server
	Bucket string
	Prefix string
}

// Outcome is what was seen of a contender that says it is done.
type Outcome struct {
	Elapsed  time.Duration // from the start of its process to its end; of Custody to the end of the slice
	Resident int64         // peak resident bytes of the process, where it was read
	Heap     int64         // peak bytes of Go's heap, where it was read
	Slices   int           // of Custody
	Parked   int           // slices of Custody that met a passing error
}

// sdkVariables are how any SDK or program reaches the server, and nothing of the developer's own configuration.
func sdkVariables(s *server.Server) map[string]string {
	return map[string]string{
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_REGION": server.Region, "AWS_DEFAULT_REGION": server.Region,
		"AWS_ACCESS_KEY_ID": server.AccessKey, "AWS_SECRET_ACCESS_KEY": server.SecretKey,
		"AWS_ENDPOINT_URL_S3": s.S3, "AWS_ENDPOINT_URL_DYNAMODB": s.DynamoDB,
	}
}
