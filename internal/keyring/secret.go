package keyring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/smithy-go"

	"custody/internal/signature"
)

const (
	// maxAge is how long a fetched keyring serves before it is asked for again. Retiring a key takes that long at most;
	// a new key is known at once to whoever names it.
	maxAge = 5 * time.Minute
	// staleFor bounds how long the last keyring serves on while Secrets Manager cannot be asked: an outage of the store
	// stops no delivery, and yet a key that was withdrawn in the meantime does not live on for ever.
	staleFor = time.Hour
	// interval is the least time between two fetches that something other than age asks for: an unknown key id, which
	// anybody can send, or a store that failed while there are keys to serve.
	interval = 30 * time.Second
	// firstInterval is the same while there has never been a keyring. Each request is a 503 then, also one that nobody signed, so
	// a flood of them must not become a flood of calls; and the first that comes behind the repair is to be taken.
	firstInterval = time.Second
	// patience is how long a fetch may take while there are keys to serve, and never more than half of the request's own
	// time: a store that hangs must not cost the delivery that happened to ask. GetSecretValue takes tens of milliseconds.
	patience = 2 * time.Second
)

// ErrUnavailable is a keyring that could not be fetched.
var ErrUnavailable = errors.New("keyring unavailable")

// secrets is what is asked of Secrets Manager.
type secrets interface {
	// GetSecretValue gives the current version of a secret.
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (
		*secretsmanager.GetSecretValueOutput, error)
}

// Secret is a keyring in Secrets Manager: fetched when it is first needed, then cached. It is safe for concurrent use.
type Secret struct {
	client secrets
	name   string
	scheme signature.Scheme
	now    func() time.Time

	mu        sync.Mutex
	keys      signature.Keys // that the scheme can use
	fetchedAt time.Time      // of keys; zero before the first success
	triedAt   time.Time      // of the last fetch, successful or not
	problem   error          // of the last fetch: why there are no newer keys, or which of them are unusable
}

// NewSecret makes a keyring over the secret with the given name or ARN, of the keys that the scheme can use. now is the clock
// of the cache, nil for time.Now.
func NewSecret(client secrets, name string, scheme signature.Scheme, now func() time.Time) *Secret {
	if now == nil {
		now = time.Now
	}
	return &Secret{client: client, name: name, scheme: scheme, now: now}
}

// Active gives the keys that are in force at the given time. id is the key that the request names, or "": for one that is
// not among the keys the secret is fetched again, at most once per 30 s, or per second before the first success. An error beside keys is for the log: it says why
// they are old, or (ErrUnusable) which keys of the secret are none. An error without keys says why there is no key.
func (s *Secret) Active(ctx context.Context, id string, at time.Time) (signature.Keys, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Without its monotonic part, which stands still while Lambda has the process frozen: hours would count as seconds.
	now := s.now().Round(0)
	if s.wanted(now, id, at) {
		s.fetch(ctx, now)
	}
	if s.lapsed(now) {
		return nil, s.problem
	}
	return s.keys.Active(at), s.problem
}

// Cached gives what Active would give, where that needs no fetch and waits for none; false otherwise, and where Active has an error.
func (s *Secret) Cached(id string, at time.Time) (signature.Keys, bool) {
	if !s.mu.TryLock() { // somebody fetches
		return nil, false
	}
	defer s.mu.Unlock()
	now := s.now().Round(0)
	if s.problem != nil || s.wanted(now, id, at) { // keys that have lapsed are wanted, or there was a problem a moment ago
		return nil, false
	}
	return s.keys.Active(at), true
}

// lapsed reports that there are no keys that may still be served.
func (s *Secret) lapsed(now time.Time) bool {
	return s.fetchedAt.IsZero() || now.Sub(s.fetchedAt) > maxAge+staleFor
}

// wanted decides whether to fetch: for a reason, which to have no keyring is, and with a distance from the last time.
func (s *Secret) wanted(now time.Time, id string, at time.Time) bool {
	if s.fetchedAt.IsZero() {
		return now.Sub(s.triedAt) >= firstInterval
	}
	active := s.keys.Active(at)
	reason := now.Sub(s.fetchedAt) > maxAge || len(active) == 0 || signature.ValidID(id) && !active.Has(id)
	return reason && now.Sub(s.triedAt) >= interval
}

// fetch replaces the keys, or leaves them and says why. A secret that cannot be read any more counts as an outage as well:
// the operator who broke it has staleFor to see the log.
func (s *Secret) fetch(ctx context.Context, now time.Time) {
	s.triedAt = now
	if len(s.keys) > 0 && !s.lapsed(now) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, allowance(ctx), errImpatient)
		defer cancel()
	}
	all, err := s.read(ctx)
	if err != nil {
		s.problem = err
		return
	}
	s.keys, s.problem = usableBy(s.scheme, all)
	s.fetchedAt = now
}

var errImpatient = errors.New("no answer in time, while there are older keys")

func allowance(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(patience, time.Until(end)/2)
	}
	return patience
}

// read asks Secrets Manager for the keyring as it is now.
func (s *Secret) read(ctx context.Context) (signature.Keys, error) {
	out, err := s.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.name})
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("get secret: %w: %w", ErrUnavailable, context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("get secret: %w: %s", ErrUnavailable, describe(err))
	}
	if out.SecretString == nil {
		return nil, fmt.Errorf("read secret: %w", malformed("the secret must be a string, not binary"))
	}
	keys, err := Parse([]byte(*out.SecretString))
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	return keys, nil
}

// describe keeps the vendor's types in this package, and of its text what an operator needs.
func describe(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return err.Error()
}
