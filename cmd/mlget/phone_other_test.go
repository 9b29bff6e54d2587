//go:build !linux

package main_test

func standIn() {}

func insidePhone() bool { return false }
