//go:build nettest

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"lifeline/protocol"
	"lifeline/protocol/client"
)

// The phone is a child, so that it can be frozen and be in another namespace.
func init() {
	if os.Getenv(roleVariable) == "phone" {
		go endWithParent()
		phone(os.Args[1], os.Args[2])
		os.Exit(0)
	}
}

// phone runs the reference client for ever and prints each message and each change of its state.
func phone(addr, token string) {
	o := device("phone", addr, token)
	o.OnMessage = func(m client.Message) error {
		fmt.Printf("got %s\n", m.Payload)
		return nil
	}
	var c *client.Client
	o.OnStatus = calm(&c, func(s client.Status) { fmt.Printf("state %v (%v)\n", s.State, s.Cause) })
	c, err := client.New(o)
	if err == nil {
		err = c.Run(context.Background())
	}
	fmt.Println("ended:", err)
}

// device is the options that both clients share. Keepalives of the kernel would keep every mapping alive.
func device(name, addr, token string) client.Options {
	return client.Options{Servers: []string{addr}, Device: name, Platform: protocol.Android,
		Token: func(context.Context, bool) ([]byte, error) { return []byte(token), nil },
		Dial:  (&net.Dialer{KeepAlive: -1}).DialContext}
}

// calm has a client, once it is online, say that it went to the background and came back: from then on its next Ping is
// nine tenths of a heartbeat away, and no longer anywhere in the first one.
func calm(c **client.Client, then func(client.Status)) func(client.Status) {
	var once sync.Once
	return func(s client.Status) {
		then(s)
		if s.State == client.Online {
			once.Do(func() {
				(*c).SetActivity(protocol.Background)
				(*c).SetActivity(protocol.Foreground)
			})
		}
	}
}
