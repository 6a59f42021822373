//go:build !race

package server_test

// raceDetector reports whether the tests run with the race detector. Browser tests are skipped then: they would take
// too long and gain nothing.
const raceDetector = false
