package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lifeline/protocol"
)

// dialMany is the dialler: it logs in many devices, says so, and holds them until it is killed. Arguments: address, number.
func dialMany(args []string) {
	hold(args, protocol.PlatformUnspecified, func(int, net.Conn) {})
}

// dialsAtOnce are under way, for on a busy machine each waits for its turn again and again.
const dialsAtOnce = 16

// held is out of the collector's reach: it would close them.
var held []net.Conn

// hold does what its arguments say and never returns. attend is told of each connection when it is logged in.
func hold(args []string, platform protocol.Platform, attend func(i int, conn net.Conn)) {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(exitUsage)
	}
	held = make([]net.Conn, count)
	var next atomic.Int64
	var dialling sync.WaitGroup
	for range dialsAtOnce {
		dialling.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				conn, err := dialOne(args[0], i, platform)
				if err != nil {
					fmt.Printf("connection %d: %v\n", i, err)
					os.Exit(exitFailed)
				}
				held[i] = conn
				attend(i, conn)
			}
		})
	}
	dialling.Wait()
	fmt.Println("holding", count)
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
