package config

import (
	"errors"
	"fmt"
	"os"

	"lifeline/server/auth"
)

// Verifier reads the key files and returns what checks tokens. It reports every file's fault at once.
func (a Auth) Verifier() (auth.Verifier, error) {
	if a.Mode == AuthDevelopment {
		return auth.Development{}, nil
	}
	var loaded []auth.Key
	var faults []error
	for _, k := range a.Keys {
		content, err := os.ReadFile(k.File)
		if err != nil {
			faults = append(faults, fmt.Errorf("key %q: %w", k.ID, err))
			continue
		}
		key, err := auth.ParseKey(k.ID, k.Algorithm, content)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", k.File, err))
			continue
		}
		loaded = append(loaded, key)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return auth.NewJWT(a.Audience, loaded)
}
