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
	hold(args, protocol.PlatformUnspecified, func(int, net.Conn) {})
}

// hold does what its arguments say and never returns. attend is told of each connection when it is logged in.
func hold(args []string, platform protocol.Platform, attend func(i int, conn net.Conn)) {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(exitUsage)
	}
	held := make([]net.Conn, 0, count)
	for i := range count {
		conn, err := dialOne(args[0], i, platform)
		if err != nil {
			fmt.Printf("connection %d: %v\n", i, err)
			os.Exit(exitFailed)
		}
		held = append(held, conn)
		attend(i, conn)
	}
	fmt.Println("holding", len(held))
	select {}
}

func dialOne(addr string, i int, platform protocol.Platform) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp4", addr, patience)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	f := connect(fmt.Sprintf("user-%08d", i), "phone")
	f.Activity, f.Platform = protocol.Background, platform
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
	return conn, conn.SetDeadline(time.Time{})
}
