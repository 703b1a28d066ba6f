package operator

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// sweptLately is how old the last sweep may be. The schedule is a minute, and CloudWatch takes one or two to show it.
	sweptLately = 5 * time.Minute
	// askEvery is how often CloudWatch is asked while there is none: it charges for requests.
	askEvery = 10 * time.Second
)

// sweeper waits for a sweep where there was none lately: a stack that was made a minute ago has none yet.
func (c *Check) sweeper(ctx context.Context) (string, error) {
	type sweep struct {
		at     time.Time
		oldest time.Duration
	}
	last, found, err := until(ctx, c.Within, askEvery, func() (sweep, bool, error) {
		now := c.Now()
		at, oldest, found, err := c.Watchers.Swept(ctx, now.Add(-sweptLately), now)
		return sweep{at, oldest}, found, err
	})
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("no sweep was published in the last %s: nothing that gets stuck is woken; read %s, heading OldestOpenRunAgeAlarm",
			words(sweptLately+c.Within), Runbook)
	}
	return fmt.Sprintf("swept %s ago; the oldest open run was %s old then", words(c.Now().Sub(last.at)), words(last.oldest)), nil
}

func words(d time.Duration) string { return max(d, 0).Round(time.Second).String() }

// alarms names every alarm that is not OK. One without data is no failure: several speak only when something happens.
func (c *Check) alarms(ctx context.Context) (string, error) {
	all, err := c.Watchers.Alarms(ctx)
	if err != nil {
		return "", err
	}
	by := map[string][]string{}
	var bad []string
	for _, a := range all {
		by[a.State] = append(by[a.State], a.Name)
		if a.State != "OK" && a.State != "INSUFFICIENT_DATA" {
			bad = append(bad, fmt.Sprintf("%s is %s: %s", a.Name, a.State, a.Reason))
		}
	}
	switch silent := by["INSUFFICIENT_DATA"]; {
	case len(all) == 0:
		return "", fmt.Errorf("the stack has no alarm: nobody is told when it stops working")
	case len(bad) > 0:
		return "", fmt.Errorf("%s; %s has a heading for each", strings.Join(bad, "; "), Runbook)
	case len(silent) > 0:
		return fmt.Sprintf("%d OK, %d without data yet: %s", len(by["OK"]), len(silent), strings.Join(silent, ", ")), nil
	}
	return fmt.Sprintf("all %d are OK", len(all)), nil
}
