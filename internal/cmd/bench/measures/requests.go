package measures

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"custody/internal/cmd/bench/contenders"
	"custody/internal/cmd/bench/results"
	"custody/internal/cmd/bench/server"
)

// Requests counts what the built function asks of S3 and DynamoDB for each 1,000 versions, as the servers see it: what an SDK
// repeats counts as well, and the scan that proves the run empty. The harness's own requests go elsewhere. It is one round: nothing
// of it depends on the machine, but for checkpoints, of which there is one a second.
func (b Bench) Requests(ctx context.Context) ([]results.Figure, error) {
	versions := b.Memories / 10
	c := contenders.Custody{Name: "custody", Binary: b.Programs.Cleanup, Settings: contenders.Lean()}.Contender()
	stocked, err := b.ready(ctx, server.Limits{}, stock(versions, prefix))
	if err != nil {
		return nil, err
	}
	if _, err := b.Server.TakeCounts(ctx); err != nil {
		return nil, err
	}
	_, failed := c.Run(ctx, contenders.Job{Server: b.Server, Bucket: bucket, Prefix: prefix})
	taken, err := b.Server.TakeCounts(ctx)
	if err != nil {
		return nil, err
	}
	if failed == nil {
		failed = stocked.Verify(ctx)
	}
	b.say("  %s", inWords(taken))
	figure := func(what string, most float64, counts func(operation string) bool) results.Figure {
		f := results.Figure{Measure: fmt.Sprintf("requests for 1,000 of %d versions", versions), Contender: "custody, " + what,
			Unit: "requests", Target: results.AtMost(most)}
		if failed != nil {
			return f.Without("failed: " + failed.Error())
		}
		return f.Of([]float64{float64(sum(taken, counts)) * 1000 / float64(versions)})
	}
	return []results.Figure{
		figure("list", 1.1, func(o string) bool { return o == "ListObjectVersions" }),
		figure("delete", 1.1, func(o string) bool { return o == "DeleteObjects" || o == "DeleteObject" }),
		figure("DynamoDB", 4, func(o string) bool { return strings.HasPrefix(o, server.ItemsPrefix) }),
	}, nil
}

func sum(taken map[string]int64, counts func(string) bool) (n int64) {
	for operation, times := range taken {
		if counts(operation) {
			n += times
		}
	}
	return n
}

func inWords(taken map[string]int64) string {
	var words []string
	for _, operation := range slices.Sorted(maps.Keys(taken)) {
		words = append(words, fmt.Sprintf("%s %d", operation, taken[operation]))
	}
	return strings.Join(words, ", ")
}
