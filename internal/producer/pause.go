package producer

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	// firstPause doubles with every try, up to longestPause: soon enough for a cold start or a throttle, seldom enough for an
	// outage of hours.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// longestRetryAfter keeps the sum of times in range; nobody waits for longer than a day here.
	longestRetryAfter = 24 * time.Hour
)

// pause is how long to wait behind the nth try. The answer's Retry-After is a least time; without one it is a backoff. A
// random part keeps many senders from coming back at the same moment.
func pause(n int, retryAfter string, now time.Time) time.Duration {
	if asked := parseRetryAfter(retryAfter, now); asked > 0 {
		return asked + rand.N(asked/10+1)
	}
	d := longestPause
	if doublings := n - 1; doublings < 9 { // 2^9 s is above the longest pause
		d = min(firstPause<<doublings, longestPause)
	}
	return d/2 + rand.N(d/2+1)
}

// parseRetryAfter reads seconds or a date, the two forms of RFC 9110; 0 for neither.
func parseRetryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, int64(longestRetryAfter/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), longestRetryAfter)
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
