package habits

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const pagePath = "../../../docs/coming-from.md"

// TestComingFromPage: the page is what the table says; UPDATE_GOLDEN=1 writes it.
func TestComingFromPage(t *testing.T) {
	want := page()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(pagePath)
	if err != nil || string(have) != want {
		t.Errorf("docs/coming-from.md is not what the table says: UPDATE_GOLDEN=1 go test ./internal/cli/habits (%v)", err)
	}
}

// TestRows: each row says one thing, and no name has two rows for one value.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range table() {
		if r.tools == "" || strings.Trim(r.tools, "wca") != "" {
			t.Errorf("%s: whose is it?", r.names)
		}
		said := 0
		for _, text := range []string{r.becomes, r.hint, r.note} {
			if text != "" {
				said++
			}
		}
		if said != 1 {
			t.Errorf("%s: %d of becomes, hint and note", r.names, said)
		}
		if strings.Contains(r.becomes, "VALUE") && r.value == "" {
			t.Errorf("%s has no value", r.names)
		}
		for name := range strings.FieldsSeq(r.names) {
			if key := name + "=" + r.when; seen[key] {
				t.Errorf("%s has two rows", key)
			} else {
				seen[key] = true
			}
		}
	}
}

func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, tool := range []struct{ letter, name, more string }{
		{"w", "wget", wgetMore}, {"c", "curl", curlMore}, {"a", "aria2", ariaMore},
	} {
		fmt.Fprintf(&b, "\n## From %s\n\n%s\n| %s | mlget |\n| --- | --- |\n", tool.name, tool.more, tool.name)
		for _, r := range table() {
			if r.tools == tool.letter {
				fmt.Fprintf(&b, "| %s | %s |\n", spelled(r), meaningOf(r))
			}
		}
	}
	b.WriteString(sharedHead)
	for _, r := range table() {
		if len(r.tools) > 1 {
			fmt.Fprintf(&b, "| %s | %s |\n", spelled(r), meaningOf(r))
		}
	}
	return b.String()
}

// spelled is how a row's names are written.
func spelled(r row) string {
	var names []string
	for name := range strings.FieldsSeq(r.names) {
		text := "--" + name
		if len(name) <= 2 {
			text = "-" + name
		}
		value := r.value
		if r.when != "" {
			value = r.when
		}
		if optional := strings.HasPrefix(r.value, "["); value != "" && (len(name) > 2 || optional) {
			text += "=" + strings.Trim(value, "[]")
		} else if value != "" {
			text += " " + value
		}
		names = append(names, "`"+text+"`")
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
	return strings.Join(names, ", ")
}

func meaningOf(r row) string {
	switch {
	case r.hint != "":
		return "refused: " + r.hint
	case r.becomes != "":
		return "`" + strings.ReplaceAll(r.becomes, "VALUE", strings.Trim(r.value, "[]")) + "`"
	}
	return "no effect: " + r.note
}

const pageHead = `# Coming from wget, curl or aria2

For users of wget, curl or aria2. Most of their options do the same in mlget. An option that mlget refuses ends in one line that says what to write instead, before anything is fetched. An option that is in none of these tables has the same name in ` + "`mlget --help`" + `, or is unknown. The tables are generated from the program's own (` + "`internal/cli/habits`" + `).

In every case redirects are followed, HTTP errors set the exit status (wget's codes), files are named after their URLs and get the server's time, nothing is overwritten (the new file is ` + "`name.1`" + `), and the same command continues an interrupted download.

## One letter, several meanings

| | is | and |
| --- | --- | --- |
| ` + "`-b`" + ` | a cookie (curl) | ` + "`-b SIZE`" + `, ` + "`-b URL`" + `: refused |
| ` + "`-c`" + ` | continue (wget, aria2) | ` + "`-c FILE URL`" + ` (curl's jar): refused |
| ` + "`-d`" + ` | data (curl) | a directory (aria2): refused; ` + "`-P DIR`" + ` |
| ` + "`-e`" + ` | the referer (curl) | ` + "`-e robots=off`" + ` as wget: no robots.txt is asked for |
| ` + "`-i`" + ` | a list of URLs (wget, aria2) | ` + "`-i URL`" + ` (curl): refused; ` + "`-S`" + ` |
| ` + "`-k`" + ` | no verification of certificates (curl) | ` + "`-k SIZE`" + ` and ` + "`-k`" + ` with ` + "`-r`" + `: refused; ` + "`-k1M`" + ` (aria2): no effect |
| ` + "`-l`" + ` | links | a number (wget's depth): refused |
| ` + "`-m`" + ` | with a number ` + "`--max-time`" + ` (curl) | without ` + "`--recursive --timestamping`" + ` (wget's mirror) |
| ` + "`-p`" + ` | connections per file and link | without a number (wget's page requisites): refused |
| ` + "`-r`" + ` | directories (wget) | ` + "`-r 0-99`" + ` (curl's range): refused |
| ` + "`-A`" + ` | the user agent (curl) | with ` + "`-r`" + ` (wget's list): refused |
| ` + "`-O`" + ` | the file to write (wget) | as the last word, before a URL or in ` + "`-LO`" + `, ` + "`-OJ`" + ` (curl): the URL's name |
| ` + "`-R`" + ` | the server's time (curl), which is the default | with ` + "`-r`" + ` (wget's list): refused |
| ` + "`-S`" + ` | the server's headers (wget) | in a group with ` + "`s`" + ` or ` + "`f`" + ` (` + "`-fsSL`" + `, curl): no effect |
| ` + "`-s`" + ` | silent (curl) | ` + "`-s16`" + `, ` + "`-x16`" + ` (aria2): as many connections as help |
| ` + "`-w`" + ` | write-out (curl) | a number (wget's pause): refused |
| ` + "`-o`" + ` | the file to write (curl, aria2) | wget's log is ` + "`2> FILE`" + ` |
`

const sharedHead = `
## Options that two or three of them have

| wget, curl or aria2 | mlget |
| --- | --- |
`

const wgetMore = "The same: `-O -P -c -i -t -T -U -q -v -4 -6 -r -S --spider --limit-rate --header --user --no-check-certificate --content-disposition`.\n"

const curlMore = "The same: `-o -L -f -s -S -H -A -U -u -k -e -I -D -w -V -4 -6 --cacert --limit-rate --max-time --connect-timeout --compressed --http1.1 --http2 --netrc`.\n"

const ariaMore = "The same: `-o -i -j -c --checksum --header --user-agent --referer --connect-timeout --timeout`, and the options out, dir and checksum in a list.\n"
