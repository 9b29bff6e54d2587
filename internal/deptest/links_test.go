package deptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// relativeLink finds the targets of Markdown links that are neither URLs nor headings of
// the same page.
var relativeLink = regexp.MustCompile(`\]\(([^)\s#:]+)(#[^)\s]*)?\)`)

// TestDocumentsLinkToWhatIsThere: a page that moves takes its readers with it. Every relative
// link of the README and of a page below docs names a file of this tree, and a heading where
// it names one.
func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "testdata", "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/measured/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range relativeLink.FindAllStringSubmatch(string(text), -1) {
			links++
			target := filepath.Join(filepath.Dir(page), filepath.FromSlash(link[1]))
			linked, err := os.ReadFile(target)
			if _, statErr := os.Stat(target); statErr != nil {
				t.Errorf("%s: %s is not there", page, link[1])
			} else if err == nil && len(link[2]) > 1 && strings.HasSuffix(target, ".md") && !headings(string(linked))[link[2][1:]] {
				t.Errorf("%s: %s has no heading %s", page, link[1], link[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// headings are the anchors that GitHub makes of a page's headings.
func headings(page string) map[string]bool {
	anchors := map[string]bool{}
	for line := range strings.Lines(page) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		var anchor strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ':
				anchor.WriteByte('-')
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
				anchor.WriteRune(r)
			}
		}
		anchors[anchor.String()] = true
	}
	return anchors
}
