package cli

import "strings"

// roff is a page in the man macros under way.
type roff struct {
	strings.Builder
	section bool // a section has just begun
}

// macro writes a macro's line. A section's first paragraph is begun by itself.
func (p *roff) macro(name string, args ...string) {
	begun := p.section
	p.section = name == "SH"
	if name == "PP" && begun {
		return
	}
	p.WriteString("." + name)
	for _, a := range args {
		p.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

// line writes a line that is roff already.
func (p *roff) line(s string) { p.WriteString(s + "\n") }

// text writes text that is to be filled.
func (p *roff) text(s string) {
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		p.line(guard(escape(strings.TrimSpace(line))))
	}
}

// paragraphs writes text in which lines that are indented stand as they are.
func (p *roff) paragraphs(s string) {
	for block := range strings.SplitSeq(s, "\n\n") {
		p.macro("PP")
		var verbatim []string
		for line := range strings.SplitSeq(block, "\n") {
			if strings.HasPrefix(line, "  ") {
				verbatim = append(verbatim, line)
				continue
			}
			p.text(line)
		}
		if len(verbatim) > 0 {
			p.verbatim(strings.Join(verbatim, "\n"))
		}
	}
}

// verbatim writes lines that stand as they are, indented.
func (p *roff) verbatim(s string) {
	p.macro("PP")
	p.macro("RS", "4")
	p.macro("nf")
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		p.line(guard(escape(strings.TrimSpace(line))))
	}
	p.macro("fi")
	p.macro("RE")
}

func bold(s string) string   { return `\fB` + escape(s) + `\fR` }
func italic(s string) string { return `\fI` + escape(s) + `\fR` }

// escape keeps text from being taken for roff. A hyphen would be set as a dash
// that nobody can paste into a shell.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`, "'", `\(aq`, "·", `\(pc`, "Δ", `\(*D`).Replace(s)
}

// guard keeps a line from being a macro.
func guard(s string) string {
	if strings.HasPrefix(s, ".") {
		return `\&` + s
	}
	return s
}
