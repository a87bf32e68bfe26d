package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"lifeline/protocol"
)

// dialMany is the dialler: it logs in many devices one after another, says so, and holds them until it is killed.
// Arguments: address, number.
func dialMany(args []string) {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(exitUsage)
	}
	held := make([]net.Conn, 0, count)
	for i := range count {
		conn, err := dialOne(args[0], i)
		if err != nil {
			fmt.Printf("connection %d: %v\n", i, err)
			os.Exit(exitFailed)
		}
		held = append(held, conn)
	}
	fmt.Println("holding", len(held))
	select {}
}

func dialOne(addr string, i int) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp4", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	f := connect(fmt.Sprintf("user-%08d", i), "phone")
	f.Activity = protocol.Background
	if _, err := conn.Write(f.Append(nil)); err != nil {
		return nil, err
	}
	got, err := readFrame(bufio.NewReaderSize(conn, 256))
	if err != nil {
		return nil, err
	}
	if got.Type() != protocol.TypeConnack {
		return nil, fmt.Errorf("got %s", got.AppendText(nil))
	}
	return conn, nil
}
