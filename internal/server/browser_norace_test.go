//go:build !race

package server_test

// raceDetector tells whether the tests run with the race detector. A browser takes too long beside it, and has no use of it.
const raceDetector = false
