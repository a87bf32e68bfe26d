package redisroute

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// noEviction is the policy of a server that refuses writes when it is full, instead of dropping what it has.
const noEviction = "noeviction"

// Advice implements [route.Table]. It asks for INFO, which is allowed where CONFIG is not.
func (t *Table) Advice(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	servers, err := masters(ctx, t.reader)
	if err != nil {
		return "", fmt.Errorf("find the masters: %w", err)
	}
	for _, s := range servers {
		policy, err := evictionPolicy(ctx, s)
		if err != nil {
			return "", err
		}
		if policy != "" && policy != noEviction {
			return fmt.Sprintf("set maxmemory-policy %s; with %s a full server removes routes, and their users are called offline", noEviction, policy), nil
		}
	}
	return "", nil
}

// evictionPolicy is "" when the server has none.
func evictionPolicy(ctx context.Context, server *redis.Client) (string, error) {
	info, err := server.Info(ctx, "memory").Result()
	if err != nil {
		return "", fmt.Errorf("info memory: %w", err)
	}
	for line := range strings.Lines(info) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok {
			return policy, nil
		}
	}
	return "", nil
}
