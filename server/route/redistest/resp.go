package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// do sends one command and reads its reply.
func do(addr string, args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	command := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		command += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	return reply(bufio.NewReader(conn))
}

func reply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	kind, text := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '-':
		return "", errors.New(text)
	case '$':
		return bulk(r, text)
	case '*':
		n, err := strconv.Atoi(text)
		if err != nil {
			return "", err
		}
		var parts []string
		for range n {
			part, err := reply(r)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, "\n"), nil
	default:
		return text, nil
	}
}

func bulk(r *bufio.Reader, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return "", err
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return "", err
	}
	return string(b[:n]), nil
}
