// Decodes a testexec JSON report with the result structs that existing Go programs hold, and prints
// what they see: the counts, then a line for each test.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

type TestResult struct {
	Framework string        `json:"framework"`
	Success   bool          `json:"success"`
	Duration  time.Duration `json:"duration"`
	Tests     []TestCase    `json:"tests"`
	Summary   TestSummary   `json:"summary"`
	RawOutput string        `json:"raw_output"`
	ExitCode  int           `json:"exit_code"`
	TimedOut  bool          `json:"timed_out"`
}

type TestCase struct {
	Name       string        `json:"name"`
	Package    string        `json:"package"`
	Status     TestStatus    `json:"status"`
	Duration   time.Duration `json:"duration"`
	Output     string        `json:"output"`
	Error      string        `json:"error"`
	StackTrace string        `json:"stack_trace"`
}

type TestStatus string

type TestSummary struct {
	Total   int `json:"total"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func main() {
	var result TestResult
	if err := json.NewDecoder(os.Stdin).Decode(&result); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := result.Summary
	fmt.Println(result.Framework, result.Success, result.ExitCode, result.TimedOut, s.Total, s.Passed, s.Failed, s.Skipped)
	for _, test := range result.Tests {
		fmt.Printf("%s|%s|%s|%s|%q\n", test.Status, test.Package, test.Name, test.Duration, test.Error)
	}
}
