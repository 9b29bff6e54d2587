// Package replay holds the scheduler to what it did before: its tests give recorded and
// simulated runs to today's scheduler and compare every action and every wake-up time with
// those in testdata/replay, whose README says how they are stored.
package replay
