// Command grense serves administrative divisions and place names as an OGC API and as a SOAP service.
//
// Each command has a file: a struct with its flags, a Run method, and a field in cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, end := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	p := &process{Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: isTerminal(os.Stdout), Reload: hup}
	go func() { die(p.heed(signals, end)) }()
	os.Exit(run(ctx, p))
}

// die ends the program by a signal, as if the signal had not been caught.
func die(by os.Signal) {
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(by) == nil {
		time.Sleep(lastWait)
	}
	os.Exit(exitFailed)
}
