package protocol

import (
	"errors"
	"regexp"
	"testing"
)

// [P-4.2], [P-5.2], [P-5.4]: every code has a name, a status with its class and hints, and a sentence for the logs.
func TestCodes(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	seen := map[string]bool{}
	last := Code(0)
	for _, code := range Codes() {
		status := code.Status()
		if code <= last {
			t.Errorf("%s: %d does not rise above %d", code, code, last)
		}
		last = code
		if !name.MatchString(code.String()) || seen[code.String()] || code.Metric() == "unknown" {
			t.Errorf("%d: name %q, metric %q", code, code, code.Metric())
		}
		seen[code.String()] = true
		if code.Sentence() == "" || string(status.Detail) != code.Sentence() || status.Code != code {
			t.Errorf("%s: sentence %q, status %+v", code, code.Sentence(), status)
		}
		if code.Local() != (code.Retry() == RetryUnspecified) || status.Retry != code.Retry() {
			t.Errorf("%s: local %v, class %v", code, code.Local(), code.Retry())
		}
		if hints := status.RetryMinMs != 0 || status.RetryWindowMs != 0; hints && code.Retry() != RetryAfter {
			t.Errorf("%s: hints of time with class %v", code, code.Retry())
		}
	}
}

// Every code is in its range, and the classes that a range implies hold [P-5.2].
func TestCodeRanges(t *testing.T) {
	for _, code := range Codes() {
		class := code.Retry()
		var fits bool
		switch {
		case code < 100:
			fits = true
		case code < 200:
			fits = class == RetryRefreshToken || class == RetryStop
		case code < 300:
			fits = class == RetryFixRequest || class == RetryAfter
		case code < 400:
			fits = class == RetryAfter
		case code < 500:
			fits = class == RetryStop || class == RetryIgnore
		default:
			fits = class == RetryAfter
		}
		if !fits {
			t.Errorf("%s: class %v in the range of %d", code, class, code)
		}
	}
}

func TestUnknownCode(t *testing.T) {
	const code = Code(599)
	if code.String() != "599" || code.Metric() != "unknown" || code.Retry() != RetryUnspecified || code.Local() || code.Sentence() != "" {
		t.Errorf("%s %s %v %v %q", code, code.Metric(), code.Retry(), code.Local(), code.Sentence())
	}
	if status := code.Status(); status.Code != code || status.Retry != RetryUnspecified || status.Detail != nil {
		t.Errorf("%+v", status)
	}
}

// [P-1.10]: only a length above the limit has a code of its own.
func TestCodeOf(t *testing.T) {
	for word, err := range outcomes {
		want := CodeMalformed
		if word == "too-large" {
			want = CodeFrameTooLarge
		}
		if got := CodeOf(errors.Join(err)); got != want {
			t.Errorf("%s: %s", word, got)
		}
	}
}
