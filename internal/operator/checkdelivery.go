package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"custody/internal/command"
	"custody/internal/inbox"
)

// dueBefore is how long before the check its command was due. Most clocks are nearer than that, and where they are not, the
// answer says when to send again. More would spoil the metric of the age at which commands arrive.
const dueBefore = time.Minute

// key is the run of the check's delivery.
func (c *Check) key() inbox.RunKey { return inbox.RunKey{Type: command.CleanupRun, Key: c.ID} }

// body is the command. It is the same with every call, as a producer's is.
func (c *Check) body() []byte {
	body, err := json.Marshal(map[string]string{
		"type": command.CleanupRun, "run_id": c.ID, "warehouse_id": inbox.CheckWarehouse,
		"expired_before": c.cutoff().UTC().Format(time.RFC3339),
	})
	if err != nil { // strings always marshal
		panic(err)
	}
	return body
}

func (c *Check) cutoff() time.Time { return c.Began.Add(-c.MinObjectAge - dueBefore) }

func (c *Check) delivery(ctx context.Context) (string, error) {
	return c.send(ctx, inbox.OutcomeAccepted)
}

func (c *Check) duplicate(ctx context.Context) (string, error) {
	return c.send(ctx, inbox.OutcomeAlreadyProcessed)
}

func (c *Check) send(ctx context.Context, want inbox.Outcome) (string, error) {
	a, err := c.Senders.Send(ctx, c.ID, c.body())
	if err != nil {
		return "", err
	}
	if a.Status != http.StatusNoContent || a.Outcome != want {
		return "", fmt.Errorf("%s, and it should be 204 %s: %s", a.words(), want, a.Means)
	}
	return a.words(), nil
}

// forgery must be refused before anything is looked up: a stack that takes it takes anything from anybody.
func (c *Check) forgery(ctx context.Context) (string, error) {
	a, err := c.Senders.Forge(ctx, c.ID+"-forged", c.body())
	if err != nil {
		return "", err
	}
	switch {
	case a.Status/100 == 2:
		return "", fmt.Errorf("a body that was changed behind its signature is answered %s, and it must be 401: take the stack off the network", a.words())
	case a.Status != http.StatusUnauthorized:
		return "", fmt.Errorf("a body that was changed behind its signature is answered %s, and it should be 401: %s", a.words(), a.Means)
	}
	return a.words() + " to a body that was changed behind its signature", nil
}

func (a CheckAnswer) words() string {
	if a.Outcome == "" {
		return fmt.Sprint(a.Status)
	}
	return fmt.Sprintf("%d %s", a.Status, a.Outcome)
}

// lookEvery is how often the run is read: a slice over nothing takes a second or two, most of it the function's start.
const lookEvery = 500 * time.Millisecond

// run follows the run to its end.
func (c *Check) run(ctx context.Context) (string, error) {
	began := c.Now()
	run, _, err := until(ctx, c.Within, lookEvery, func() (*inbox.Run, bool, error) {
		run, err := c.Inbox.Run(ctx, c.key())
		if err != nil {
			return nil, false, err
		}
		return run, run == nil || ended(run.State), nil
	})
	switch {
	case err != nil:
		return "", err
	case run == nil:
		return "", fmt.Errorf("there is no run %s in the inbox table: the URL and the table are of two different stacks", c.key())
	}
	return c.end(ctx, *run, began)
}

func ended(s inbox.State) bool { return s != inbox.StatePending && s != inbox.StateRunning }

func (c *Check) end(ctx context.Context, run inbox.Run, began time.Time) (string, error) {
	switch run.State {
	case inbox.StateDone:
		if run.Mode != inbox.ModeDryRun {
			return "", fmt.Errorf("%s is done in mode %s, and it must be a dry run whatever DeleteScopes says: the stack is of a version before this tool's", run.RunKey(), run.Mode)
		}
		return fmt.Sprintf("%s is done as a dry run, after %s", run.RunKey(), run.EndedAt.Sub(run.ReceivedAt).Round(10*time.Millisecond)), nil
	case inbox.StateRecorded:
		return c.unrecord(ctx, run)
	case inbox.StatePending, inbox.StateRunning:
		return "", fmt.Errorf("%s is %s after %s%s; %s", run.RunKey(), run.State, c.Now().Sub(began).Round(time.Second), lastError(run), Next(run, c.Now()).Words)
	case inbox.StateFailed, inbox.StateDismissed:
	}
	return "", fmt.Errorf("%s is %s%s; see `custody show %s`, and dismiss it when the cause is cured", run.RunKey(), run.State, lastError(run), run.RunKey())
}

// unrecord takes the check's own run out of the record-only stage, where it would wait for ever and somebody would release it.
func (c *Check) unrecord(ctx context.Context, run inbox.Run) (string, error) {
	if _, err := c.Dismiss(ctx, run.RunKey(), c.By, "custody check: the stack is in the record-only stage"); err != nil {
		return "", fmt.Errorf("dismiss %s, which is recorded: %w", run.RunKey(), err)
	}
	return fmt.Sprintf("%s is recorded and not started, as the record-only stage wants it; it is dismissed again", run.RunKey()), nil
}

func lastError(run inbox.Run) string {
	if run.LastError == nil {
		return ""
	}
	return ", with the error " + advisedText(run.LastError.Category, run.LastError.Message)
}
